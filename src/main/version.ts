import manifest from "../../deno.json" with { type: "json" };

/** Semantic version of the service; apart, so that `--version` loads nothing else. */
export const version: string = manifest.version;
