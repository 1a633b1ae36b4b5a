import fs from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { addQuickLookups, type OpenFile } from "./file_lookups.ts";
import { syncFolder } from "./image.ts";

interface NodeFiles {
  readonly stream_ops: { fsync?: (file: OpenFile) => number };
  realPath(node: unknown): string;
}

/**
 * The WebAssembly system's number of EIO, "input/output error"; PostgreSQL stops at it, as it must.
 */
const failed = 29;

/**
 * The database's folder as a file system that can sync files and folders. PGlite's own can't, so
 * PGlite starts PostgreSQL with `fsync` off; but the journal removes a call once the store has it,
 * and then the call is nowhere else.
 */
export class SyncedFiles extends NodeFS {
  override async init(...[pglite, options]: Parameters<NodeFS["init"]>) {
    const { emscriptenOpts } = await super.init(pglite, options);
    const preRun = [emscriptenOpts.preRun ?? []].flat();
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...preRun, addSync, addQuickLookups] } };
  }
}

function addSync(module: object): void {
  const files = (module as { NODEFS: NodeFiles }).NODEFS;
  files.stream_ops.fsync = ({ nfd, node }) => {
    try {
      if (nfd !== undefined) fs.fsyncSync(nfd);
      else syncFolder(files.realPath(node));
      return 0;
    } catch {
      return failed;
    }
  };
}

/** Returns PostgreSQL's start parameters with syncs on; other sync methods do nothing in PGlite. */
export function synced(parameters: readonly string[]): string[] {
  return [...parameters.filter((one) => one !== "-F"), "-c", "wal_sync_method=fsync"];
}
