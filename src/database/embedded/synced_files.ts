import fs from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { syncFolder } from "./image.ts";

/** What PGlite's file system has of an open file; folders have no descriptor. */
interface OpenFile {
  readonly nfd?: number;
  readonly node: unknown;
}

interface NodeFiles {
  readonly stream_ops: { fsync?: (file: OpenFile) => number };
  realPath(node: unknown): string;
}

/** The system's number for "input or output failed"; PostgreSQL stops at it, as it must. */
const failed = 29;

/**
 * The database's folder, in which files and folders can be synced. PGlite's own file system can't, so
 * PGlite starts PostgreSQL with `fsync` off; but the journal removes a call once the store has it,
 * and then nothing else does.
 */
export class SyncedFiles extends NodeFS {
  override async init(...[pglite, options]: Parameters<NodeFS["init"]>) {
    const { emscriptenOpts } = await super.init(pglite, options);
    const preRun = [emscriptenOpts.preRun ?? []].flat();
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...preRun, addSync] } };
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

/** PostgreSQL's start parameters, with syncs; the other methods of syncing do nothing in PGlite. */
export function synced(parameters: readonly string[]): string[] {
  return [...parameters.filter((one) => one !== "-F"), "-c", "wal_sync_method=fsync"];
}
