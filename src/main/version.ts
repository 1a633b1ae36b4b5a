import manifest from "../../deno.json" with { type: "json" };

/** Semantic version of the service; in its own file, so that `--version` loads nothing else. */
export const version: string = manifest.version;
