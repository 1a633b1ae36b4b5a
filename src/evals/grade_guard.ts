/**
 * Starts the thread in which callers' schemas and patterns run (`grade_worker.ts`) and passes on
 * what is said. It is a thread of its own because only a web worker has permissions of its own, and
 * only a worker of Node's kind has a heap of its own size; the second inherits those of the first.
 */
import { Worker } from "node:worker_threads";
import { programModule } from "../base/program_files.ts";
import { type GradeQuestion, gradeReady, type GradeResult } from "./grade_protocol.ts";

interface Scope {
  onmessage: (event: MessageEvent<GradeQuestion>) => void;
  postMessage(result: GradeResult | typeof gradeReady): void;
}

const scope = globalThis as unknown as Scope;

/** Without both the runtime does not keep to either. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };

const worker = new Worker(programModule("src/evals/grade_worker.ts"), { resourceLimits, env: {} });
worker.on("message", (result: GradeResult | typeof gradeReady) => {
  // Reading was needed to load the code, and the worker's permissions are these.
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
