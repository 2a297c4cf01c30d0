/** The product's version, from its single source. */
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
