import { request } from "node:http";
import { json } from "node:stream/consumers";
import { parseExactly } from "../base/exact_json.ts";
import { sameText } from "../base/hash.ts";
import { randomBase62 } from "../base/ids.ts";
import type { CommandResult } from "./command.ts";
import { pulledStream } from "../base/pulled_stream.ts";
import { type AdminDeps, runCommand } from "./commands.ts";
import { type ExportDeps, type ExportEvent, runExport } from "./export_command.ts";
import { decodeFrames, encodeFrames } from "./export_frames.ts";

/**
 * The file by which the operator's command line reaches a server that owns the embedded database.
 * It holds the address of the server's control listener on loopback and the token for it, and only
 * the owner of the data directory can read it.
 */
const controlFile = "control.json";

/** The body of a command's request; `input` is the text from the command's standard input. */
interface Sent {
  argv: readonly string[];
  input: string;
}

interface Control {
  address: string;
  token: string;
  /** Identifies the file itself, so that a copy of the data directory doesn't lead to this server. */
  file: string;
}

/** Where the listener may be: a machine without IPv4 has only the second. */
type Loopback = readonly [string, string];
const loopback: Loopback = ["127.0.0.1", "::1"];

/** Opens the control listener and writes its file; `close` ends both. */
export async function serveControl(
  dataDir: string,
  deps: AdminDeps & ExportDeps,
  hosts = loopback,
): Promise<{ close(): Promise<void> }> {
  const token = randomBase62(43);
  const server = serveOnEither(hosts, async (request) => {
    if (!sameText(request.headers.get("authorization") ?? "", `Bearer ${token}`)) {
      return new Response(null, { status: 404 });
    }
    const sent = await request.json().catch(() => undefined) as Partial<Sent> | undefined;
    if (!Array.isArray(sent?.argv)) return new Response(null, { status: 400 });
    if (new URL(request.url).pathname === exportPath) {
      const events = runExport(deps, sent.argv.map(String), sent.input === withTotalInput);
      return new Response(pulledStream(encodeFrames(events)));
    }
    const input = typeof sent.input === "string" ? sent.input : "";
    return Response.json(await runCommand(deps, sent.argv.map(String), input));
  });
  const path = `${dataDir}/${controlFile}`;
  const { hostname, port } = server.addr;
  const address = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  await Deno.remove(path).catch(() => {});
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  const control: Control = { address, token, file: identityOf(await file.stat()) };
  await file.write(new TextEncoder().encode(JSON.stringify(control)));
  return {
    async close() {
      await Deno.remove(path).catch(() => {});
      await server.shutdown();
    },
  };
}

/** Serves at a free port of the first address, or of the second if this machine lacks the first. */
function serveOnEither(
  [first, second]: Loopback,
  handle: (request: Request) => Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  const serveOn = (hostname: string) => Deno.serve({ hostname, port: 0, onListen() {} }, handle);
  try {
    return serveOn(first);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.AddrNotAvailable) return serveOn(second);
    throw thrown;
  }
}

/** Exports have their own path because their answer is streamed in frames: it may be large. */
const exportPath = "/export";
const withTotalInput = "with total";

/** Has the server that owns the data directory run an export; undefined when none answers. */
export async function callExport(
  dataDir: string,
  argv: readonly string[],
  withTotal: boolean,
): Promise<AsyncIterable<ExportEvent> | undefined> {
  const input = withTotal ? withTotalInput : "";
  const answer = await send(dataDir, exportPath, { argv, input });
  return answer && decodeFrames(untilCut(answer));
}

/** Ends where the connection breaks: `decodeFrames` misses the last frame and says so. */
async function* untilCut(answer: Answer): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch {
    // The server has been killed.
  }
}

/**
 * Sends a command to the server that owns the data directory; undefined when there is none. Throws
 * an Error of one line when the server may have run the command and its answer didn't come: run
 * again, a grant would be made twice.
 */
export async function callControl(
  dataDir: string,
  argv: readonly string[],
  input = "",
): Promise<CommandResult | undefined> {
  const answer = await send(dataDir, "/", { argv, input });
  if (!answer) return undefined;
  try {
    return await json(answer) as CommandResult;
  } catch {
    throw unanswered(dataDir);
  }
}

async function send(dataDir: string, path: string, sent: Sent): Promise<Answer | undefined> {
  const control = await readControl(dataDir);
  if (!control) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
  // `fetch` would send token and command to the proxy that `HTTP_PROXY` names.
  const asking = request(control.address + path, {
    method: "POST",
    headers: { authorization: `Bearer ${control.token}` },
    agent: false,
  }, (answer) => {
    if (answer.statusCode === 200) return resolve(answer);
    answer.destroy();
    resolve(undefined);
  });
  asking.on("error", ({ code }: Error & { code?: string }) => {
    // The file is left over from a server that no longer runs.
    if (code === "ECONNREFUSED") resolve(undefined);
    else reject(unanswered(dataDir));
  });
  asking.end(JSON.stringify(sent));
  return await promise;
}

type Answer = AsyncIterable<Uint8Array>;

function unanswered(dataDir: string): Error {
  return new Error(
    "The server ended before it answered. It may have carried out this command: check that before " +
      `you repeat it. If no server was running, remove ${dataDir}/${controlFile} and repeat it.`,
  );
}

async function readControl(dataDir: string): Promise<Control | undefined> {
  try {
    const path = `${dataDir}/${controlFile}`;
    const control = parseExactly(await Deno.readTextFile(path)) as Control;
    return control.file === identityOf(await Deno.stat(path)) ? control : undefined;
  } catch {
    return undefined;
  }
}

function identityOf({ dev, ino }: Deno.FileInfo): string {
  return `${dev} ${ino}`;
}
