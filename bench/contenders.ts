import { killChild, startProgram } from "./callers.ts";
import type { Cell } from "./cells.ts";
import { type Gateway, postgresMissing, startGateway } from "./gateway.ts";
import type { CallerOrder } from "./programs/caller.ts";

type LoadRequest = Pick<CallerOrder, "port" | "path" | "headers" | "body">;

/** A proxy or gateway between callers and the vendor, which is compared with others. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly title: string;
  /** Its processes. */
  readonly pids: readonly number[];
  readonly storePid?: number | undefined;
  readonly gateway?: Gateway;
  /** Returns how to make the calls of a cell; undefined if the contender can't handle them. */
  requestFor(cell: Cell): LoadRequest | undefined;
}

/** Starts the contender with this name. Returns the reason if this machine can't run it. */
export async function startContender(
  name: string,
  vendorPort: number,
): Promise<Contender | string> {
  const start = starters[name];
  if (start) return await start(vendorPort);
  const processes = /^(embedded|postgres)(?:-(\d))?$/.exec(name);
  if (!processes) return `there is no ${name}; there are ${contenderNames.join(", ")}`;
  const store = processes[1] as "embedded" | "postgres";
  const missing = store === "postgres" ? postgresMissing() : undefined;
  if (missing !== undefined) return missing;
  const workers = Number(processes[2] ?? 1);
  return contenderOf(name, await startGateway({ store, vendorPort, workers }));
}

export function contenderOf(name: string, gateway: Gateway): Contender {
  return {
    name,
    title: gateway.title,
    pids: [gateway.pid],
    storePid: gateway.storePid,
    gateway,
    requestFor: (cell) => ({
      port: gateway.port,
      headers: { authorization: `Bearer ${gateway.key}` },
      ...cell.isTranslated
        ? { path: "/chat/v1/messages", body: cell.body("vendor-b/gpt-4.1") }
        : { path: "/openai/v1/chat/completions", body: cell.vendorBody },
    }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const starters: Readonly<Record<string, (vendorPort: number) => Promise<Contender | string>>> = {
  bare: (vendor) => bare("bare", "bare fetch proxy", "bench/programs/bare_fetch.ts", vendor),
  "bare-node": (vendor) =>
    bare("bare-node", "bare node:http proxy", "bench/programs/bare_proxy.ts", vendor),
  nginx: startNginx,
  portkey: startPortkey,
  litellm: startLitellm,
};

/** The contenders that a run compares by default; `postgres-2` and more must be named. */
export const contenderNames: readonly string[] = [...Object.keys(starters), "embedded", "postgres"];

async function bare(
  name: string,
  title: string,
  script: string,
  vendorPort: number,
): Promise<Contender> {
  const peer = await startProgram(script, [String(vendorPort)]);
  return passing(name, title, peer.port, peer.pid, () => peer[Symbol.dispose]());
}

/** Creates a contender that forwards bytes: its calls are in the vendor's dialect in every cell. */
function passing(
  name: string,
  title: string,
  port: number,
  pid: number,
  stop: () => void | Promise<void>,
): Contender {
  return {
    name,
    title,
    pids: [pid],
    requestFor: ({ vendorBody: body }) => ({
      port,
      path: "/v1/chat/completions",
      headers: {},
      body,
    }),
    [Symbol.asyncDispose]: async () => await stop(),
  };
}

async function startNginx(vendorPort: number): Promise<Contender | string> {
  const missing = await installed("nginx", "nginx-light");
  if (missing !== undefined) return missing;
  const folder = await Deno.makeTempDir({ prefix: "bench-nginx-" });
  const port = freePort();
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((one) => `${one}_temp_path ${folder}/${one};`).join(" ");
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log stderr crit;
     events { worker_connections 4096; }
     http {
       access_log off; ${places} client_max_body_size 64m; client_body_buffer_size 2m;
       keepalive_requests 1000000;
       upstream vendor { server 127.0.0.1:${vendorPort}; keepalive 64; keepalive_requests 1000000; }
       server {
         listen 127.0.0.1:${port};
         location / {
           proxy_pass http://vendor; proxy_http_version 1.1; proxy_set_header Connection "";
           proxy_buffering off;
         }
       }
     }`,
  );
  const child = await serve("nginx", ["-p", folder, "-c", `${folder}/nginx.conf`], port);
  return passing(
    "nginx",
    `nginx ${await versionOf("nginx", ["-v"])}`,
    port,
    child.pid,
    async () => {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  );
}

const portkeyVersion = "1.15.2";

async function startPortkey(vendorPort: number): Promise<Contender | string> {
  const folder = await toolFolder(`portkey-${portkeyVersion}`, async (path) => {
    await run("npm", ["init", "-y"], path);
    await run("npm", [
      "install",
      "--no-audit",
      "--no-fund",
      `@portkey-ai/gateway@${portkeyVersion}`,
    ], path);
  });
  if (typeof folder !== "string") return `@portkey-ai/gateway: ${folder.reason}`;
  const port = freePort();
  const script = `${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`;
  const child = await serve("node", [script, `--port=${port}`, "--headless"], port);
  return {
    ...passing(
      "portkey",
      `@portkey-ai/gateway ${portkeyVersion}`,
      port,
      child.pid,
      () => killChild(child),
    ),
    requestFor: (cell) =>
      cell.isTranslated ? undefined : {
        port,
        path: "/v1/chat/completions",
        headers: {
          "x-portkey-provider": "openai",
          "x-portkey-custom-host": `http://127.0.0.1:${vendorPort}/v1`,
          authorization: "Bearer sk-bench",
        },
        body: cell.vendorBody,
      },
  };
}

const litellmVersion = "1.109.1";

async function startLitellm(vendorPort: number): Promise<Contender | string> {
  const folder = await toolFolder(`litellm-${litellmVersion}`, async (path) => {
    await run("python3", ["-m", "venv", path], path);
    await run(`${path}/bin/pip`, ["install", "-q", `litellm[proxy]==${litellmVersion}`], path);
  });
  if (typeof folder !== "string") return `LiteLLM: ${folder.reason}`;
  const port = freePort();
  const settings = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    settings,
    `model_list:
  - model_name: gpt-4.1
    litellm_params:
      model: openai/gpt-4.1
      api_base: http://127.0.0.1:${vendorPort}/v1
      api_key: sk-bench
`,
  );
  const args = [
    "--config",
    settings,
    "--port",
    String(port),
    "--host",
    "127.0.0.1",
    "--num_workers",
    "1",
  ];
  const child = await serve(`${folder}/bin/litellm`, args, port);
  return {
    ...passing("litellm", `LiteLLM ${litellmVersion}`, port, child.pid, () => killChild(child)),
    requestFor: (cell) => ({
      port,
      path: cell.isTranslated ? "/v1/messages" : "/v1/chat/completions",
      headers: { authorization: "Bearer sk-bench" },
      body: cell.isTranslated ? cell.body("gpt-4.1") : cell.vendorBody,
    }),
  };
}

/** Installs a program if it is missing. Returns undefined, or why it can't be installed. */
async function installed(program: string, debianPackage: string): Promise<string | undefined> {
  const isThere = async () => (await output("sh", ["-c", `command -v ${program}`])).success;
  if (await isThere()) return undefined;
  if (Deno.uid() !== 0) {
    return `${program} is not installed, and only root can: apt-get install ${debianPackage}`;
  }
  await output("apt-get", ["update", "-q"]);
  await output("apt-get", ["install", "-y", "-q", "--no-install-recommends", debianPackage]);
  return await isThere() ? undefined : `${program} could not be installed (${debianPackage})`;
}

/** Returns the folder of a tool, which is installed once and reused by later runs. */
async function toolFolder(
  name: string,
  install: (path: string) => Promise<void>,
): Promise<string | { reason: string }> {
  const path = `${Deno.env.get("BENCH_TOOLS") ?? "/tmp/bench-tools"}/${name}`;
  try {
    await Deno.stat(`${path}/.installed`);
    return path;
  } catch {
    // The tool isn't installed, or an installation was interrupted.
  }
  try {
    await Deno.mkdir(path, { recursive: true });
    await install(path);
    await Deno.writeTextFile(`${path}/.installed`, "");
    return path;
  } catch (thrown) {
    return {
      reason: `could not be installed: ${thrown instanceof Error ? thrown.message : thrown}`,
    };
  }
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { success, text } = await output(program, args, cwd);
  if (!success) throw new Error(`${program} ${args[0]}: ${text.trim().split("\n").at(-1)}`);
}

async function output(program: string, args: readonly string[], cwd?: string) {
  try {
    const command = new Deno.Command(program, {
      ...{ args: [...args], stdout: "piped", stderr: "piped" },
      ...(cwd === undefined ? {} : { cwd }),
    });
    const { success, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
  } catch (thrown) {
    return { success: false, text: String(thrown) };
  }
}

async function versionOf(program: string, args: readonly string[]): Promise<string> {
  return /\d+\.\d+[.\d]*/.exec((await output(program, args)).text)?.[0] ?? "";
}

/** Starts a server that ends with this process; resolves when it takes connections. */
async function serve(
  program: string,
  args: readonly string[],
  port: number,
): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(program, {
    args: [...args],
    env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "ERROR", NODE_ENV: "production" },
    stdout: "null",
    stderr: "null",
  }).spawn();
  globalThis.addEventListener("unload", () => killChild(child));
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  for (let looks = 0; looks < 1200 && !hasEnded; looks++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return child;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  killChild(child);
  throw new Error(`${program} does not listen on its port`);
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
