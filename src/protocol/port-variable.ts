/** Names the port that a session has on lease, besides PORT, which programs read and may change. */
export const PORT_VARIABLE = "WSH_PORT";
