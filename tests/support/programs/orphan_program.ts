/**
 * With the argument `parent` starts a worker and waits. The worker doesn't notice the end of its
 * parent until it has read a byte; then it sends something.
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { openParentLink } from "../../../src/workers/parent_link.ts";

if (Deno.args[0] === "parent") {
  const args = ["run", "-A", "--no-check", new URL(import.meta.url).pathname];
  spawn(Deno.execPath(), args, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
} else {
  const stop = () => {
    console.log("stopped");
    Deno.exit();
  };
  const link = openParentLink({ stop, reload() {} }, process);
  console.log("started");
  Deno.stdin.readSync(new Uint8Array(1));
  link.send({ kind: "alive" });
}
