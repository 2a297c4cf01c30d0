/** Name of the variable with the session's leased port, besides PORT, which programs read and may change. */
export const PORT_VARIABLE = "WSH_PORT";
