/**
 * Starts the thread in which callers' schemas and patterns run (`grade_worker.ts`) and relays
 * messages to and from it. This takes two threads: only a web worker can have its own permissions,
 * and only a Node worker can have its own heap limit. The Node worker inherits the web worker's
 * permissions.
 */
import { Worker } from "node:worker_threads";
import { programModule } from "../base/program_files.ts";
import { type GradeQuestion, gradeReady, type GradeResult } from "./grade_protocol.ts";

interface Scope {
  onmessage: (event: MessageEvent<GradeQuestion>) => void;
  postMessage(result: GradeResult | typeof gradeReady): void;
}

const scope = globalThis as unknown as Scope;

/** Both must be set: with only one of them the runtime ignores it. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };

const worker = new Worker(programModule("src/evals/grade_worker.ts"), { resourceLimits, env: {} });
worker.on("message", (result: GradeResult | typeof gradeReady) => {
  // The read permission was needed to load the code. Revoking it here revokes the worker's too.
  if (result === gradeReady) revokeAll();
  scope.postMessage(result);
});
worker.on("error", (thrown: unknown) => {
  throw thrown;
});
scope.onmessage = ({ data }) => worker.postMessage(data);

function revokeAll(): void {
  for (const name of ["read", "write", "net", "env", "sys", "run", "ffi", "import"] as const) {
    const { state } = Deno.permissions.revokeSync({ name });
    if (state === "granted") throw new Error(`the graders' thread keeps the permission ${name}`);
  }
}
