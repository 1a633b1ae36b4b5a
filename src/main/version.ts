import manifest from "../../deno.json" with { type: "json" };

/** Semantic version of the service. */
export const version: string = manifest.version;
