import { parseConfig } from "../../src/main/config.ts";
import { adminCommand } from "../../src/main/run_admin.ts";

/**
 * Runs one of the operator's commands like `deno task admin`, from its arguments to its exit code,
 * but in the test's own process: starting the program takes longer than most commands. Tests that
 * use `runProgram` show that the program does the same.
 */
export async function runAdminHere(
  { args, env, input = "" }: {
    args: readonly string[];
    env: Readonly<Record<string, string>>;
    /** The text on standard input. */
    input?: string;
  },
): Promise<{ code: number; stdout: string; stderr: string }> {
  const written: Uint8Array<ArrayBuffer>[] = [];
  const print = (text: string) => void written.push(new TextEncoder().encode(text));
  let stderr = "";
  const code = await adminCommand(args, () => parseConfig({ ...env }), {
    program: "deno task admin",
    isWatched: false,
    write: (bytes) => Promise.resolve(void written.push(bytes.slice())),
    input: () => Promise.resolve(input),
    print: (line) => print(`${line}\n`),
    printError: (line) => void (stderr += `${line}\n`),
  });
  return { code, stdout: await new Blob(written).text(), stderr };
}
