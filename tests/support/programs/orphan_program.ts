/**
 * With the argument `parent` starts a worker and waits. The worker doesn't notice the end of its
 * parent until it has read a byte; then it sends something. With `busy-parent` the parent reads
 * nothing of what its worker sends, and the worker waits for the end of its input.
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { openParentLink } from "../../../src/workers/parent_link.ts";

const [role = "worker"] = Deno.args;
if (role.endsWith("parent")) {
  const worker = role === "parent" ? "worker" : "worker-of-busy";
  const args = ["run", "-A", "--no-check", new URL(import.meta.url).pathname, worker];
  spawn(Deno.execPath(), args, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  if (role === "busy-parent") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
} else {
  const stop = () => {
    console.log("stopped");
    Deno.exit();
  };
  const link = openParentLink({ stop, reload() {} }, process);
  console.log("started");
  const byte = new Uint8Array(1);
  if (role === "worker-of-busy") {
    await Deno.stdin.read(byte);
    Deno.exit(1);
  }
  Deno.stdin.readSync(byte);
  link.send({ kind: "alive" });
}
