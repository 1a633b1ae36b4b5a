import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import postgres from "postgres";
import { freePort } from "./free_port.ts";
import { memoryFolder } from "./memory_folder.ts";

/** A real PostgreSQL for tests. */
export interface TestPostgres {
  /** Returns the address of a database of this server, with user and password. */
  url(database: string): string;
  /** Creates an empty database, or a copy of `template`, which must have no connections. */
  createDatabase(options?: { readonly template?: string }): Promise<TestDatabase>;
  /** Has `build` fill a template at an address, unless it exists already. Returns its name. */
  template(name: string, build: (url: string) => Promise<void>): Promise<string>;
  /** Stops the server and waits for its end: `fast` ends sessions properly, `immediate` crashes. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** Starts the server again on the same port. */
  start(): Promise<void>;
  /** Freezes every process of the server: connections stay open, without answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/**
 * Whether there is a PostgreSQL to test on: `TEST_DATABASE_URL` (with a user that may create
 * databases), or installed programs. Throws if there is none and `CI` is set, where a skip is a
 * failure.
 */
export function postgresAvailability(): { available: boolean; reason: string } {
  if (Deno.env.get("TEST_DATABASE_URL")) return { available: true, reason: "" };
  if (programFolder() !== undefined) return { available: true, reason: "" };
  const reason = "PostgreSQL is not installed (initdb is neither below /usr/lib/postgresql nor " +
    "in PATH): run apt-get install postgresql, or set TEST_DATABASE_URL";
  if (!["", "0", "false"].includes((Deno.env.get("CI") ?? "").toLowerCase())) {
    throw new Error(reason);
  }
  return { available: false, reason };
}

/**
 * Returns the server that the tests of this file share: that of `TEST_DATABASE_URL`, or one that is
 * started at the first call. With `private` the caller gets its own server, which it may stop and
 * freeze. A server never outlives the test process, however that ends.
 */
export function startPostgres(
  options: {
    readonly private?: boolean;
    /** Settings of a private server, which override those of the tests. */
    readonly settings?: Readonly<Record<string, string>>;
    /** The port that a private server tries first, instead of a free one. */
    readonly port?: number;
  } = {},
): Promise<TestPostgres> {
  if (options.private) return PrivateServer.create(options.settings, options.port);
  const external = Deno.env.get("TEST_DATABASE_URL");
  shared ??= external ? Promise.resolve(externalServer(external)) : PrivateServer.create();
  return shared;
}

let shared: Promise<TestPostgres> | undefined;

const user = "gateway";
const password = "test-password";

/**
 * Settings for a small and fast server that may lose data in a crash. The unusual time zone reveals
 * code that depends on the session's time zone.
 */
const settings = {
  fsync: "off",
  full_page_writes: "off",
  autovacuum: "off",
  jit: "off",
  shared_buffers: "32MB",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_connections: "200",
  listen_addresses: "127.0.0.1",
  timezone: "Asia/Kathmandu",
  log_min_messages: "warning",
};

/**
 * A shell script that runs the server as its child and ends it with the test process: when standard
 * input ends, for whatever reason, it stops the server and removes its folder. A signal's name on
 * standard input is passed on to the server.
 */
const keeper = `
  folder=$1; shift
  "$@" >>"$folder/log" 2>&1 &
  server=$!
  trap 'exit' TERM INT HUP
  trap 'kill -CONT $server $(cat "$folder/frozen" 2>/dev/null); kill -QUIT $server; wait $server
    rm -rf "$folder"' EXIT
  while read -r signal; do
    kill -$signal $server; wait $server; trap - EXIT; exit
  done 2>/dev/null`;

/** Returns a whole database as text, as `pg_dump` writes it. */
export async function dumpDatabase(url: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(`${programFolder()}/pg_dump`, {
    args: ["--inserts", "--dbname", url],
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`pg_dump failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/**
 * Returns the verifier that the server stores for a password, with one round instead of 4096: tests
 * open thousands of connections, and both sides would compute all rounds for each.
 */
function cheapVerifier(text: string): string {
  const salt = randomBytes(16);
  const rounds = 1;
  const salted = pbkdf2Sync(text, salt, rounds, 32, "sha256");
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest();
  const storedKey = createHash("sha256").update(keyOf("Client Key")).digest();
  const [salt64, stored64, server64] = [salt, storedKey, keyOf("Server Key")].map((bytes) =>
    bytes.toString("base64")
  );
  return `SCRAM-SHA-256$${rounds}:${salt64}$${stored64}:${server64}`;
}

/** A server of this test process, in its own folder. */
class PrivateServer implements TestPostgres {
  readonly #programs: string;
  readonly #folder: string;
  readonly #owner: Owner | undefined;
  readonly #settings: Readonly<Record<string, string>>;
  #port = 0;
  #keeper: Deno.ChildProcess | undefined;

  static async create(
    more: Readonly<Record<string, string>> = {},
    port = 0,
  ): Promise<PrivateServer> {
    const programs = programFolder();
    if (programs === undefined) throw new Error(postgresAvailability().reason);
    const server = new PrivateServer(programs, { ...settings, ...more });
    server.#port = port;
    await server.#initialise();
    await server.start();
    return server;
  }

  private constructor(programs: string, given: Readonly<Record<string, string>>) {
    this.#programs = programs;
    this.#settings = given;
    this.#folder = Deno.makeTempDirSync({ prefix: "pg-", ...memoryFolder() });
    this.#owner = Deno.uid() === 0 ? unprivileged() : undefined;
    if (this.#owner) Deno.chownSync(this.#folder, this.#owner.uid, this.#owner.gid);
    globalThis.addEventListener("unload", () => this.#end());
  }

  url(database: string): string {
    return `postgres://${user}:${password}@127.0.0.1:${this.#port}/${database}`;
  }

  createDatabase(options?: { readonly template?: string }): Promise<TestDatabase> {
    return createDatabase((name) => this.url(name), "postgres", options?.template);
  }

  template(name: string, build: (url: string) => Promise<void>): Promise<string> {
    return template((database) => this.url(database), "postgres", name, build);
  }

  async start(): Promise<void> {
    for (let attempt = 1;; attempt++) {
      if (this.#port === 0) this.#port = freePort();
      this.#run();
      const failure = await this.#ready();
      if (failure === undefined) return;
      await this.#signal("QUIT");
      // Another process may have taken the port that was free a moment ago.
      if (attempt === 3 || !failure.includes("Address already in use")) throw new Error(failure);
      this.#port = 0;
      // The next start would find the old failure in it and stop a server that has just begun,
      // which ignores SIGQUIT.
      Deno.removeSync(`${this.#folder}/log`);
    }
  }

  async stop(mode: "fast" | "immediate" = "fast"): Promise<void> {
    await this.#signal(mode === "fast" ? "INT" : "QUIT");
  }

  async freeze(): Promise<void> {
    const server = await this.#pid();
    // The main process is frozen first, so that it starts no more children.
    Deno.kill(server, "SIGSTOP");
    const children = childrenOf(server);
    Deno.writeTextFileSync(`${this.#folder}/frozen`, children.join(" "));
    for (const child of children) Deno.kill(child, "SIGSTOP");
  }

  async thaw(): Promise<void> {
    const server = await this.#pid();
    for (const process of [...childrenOf(server), server]) Deno.kill(process, "SIGCONT");
    Deno.removeSync(`${this.#folder}/frozen`);
  }

  /** Copies the result of one `initdb`, which takes a second of processor time, a copy a tenth. */
  async #initialise(): Promise<void> {
    const hash = createHash("sha256").update([this.#programs, user, password].join("\n"))
      .digest("hex");
    const made = `${memoryFolder().dir ?? tmpdir()}/postgres-${Deno.uid()}-${hash.slice(0, 16)}`;
    const data = `${this.#folder}/data`;
    if (!exists(made)) {
      await this.#runToEnd(`${this.#programs}/initdb`, this.#initdbArgs(data));
      try {
        Deno.renameSync(data, made);
      } catch (thrown) {
        // If several processes make it at once, one is used.
        if (!exists(made)) throw thrown;
        Deno.removeSync(data, { recursive: true });
      }
    }
    await this.#runToEnd("cp", ["-a", made, data]);
  }

  #initdbArgs(data: string): string[] {
    const passwordFile = `${this.#folder}/password`;
    Deno.writeTextFileSync(passwordFile, cheapVerifier(password));
    return [
      ...["-D", data, "-U", user, `--pwfile=${passwordFile}`],
      ...["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"],
    ];
  }

  async #runToEnd(program: string, args: string[]): Promise<void> {
    const { success, stderr } = await new Deno.Command(program, {
      args,
      ...this.#surroundings(),
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr)}`);
  }

  #run(): void {
    const given = Object.entries({ ...this.#settings, port: this.#port }).flatMap((
      [name, value],
    ) => ["-c", `${name}=${value}`]);
    // Paths of sockets are limited in length; in a long folder the server has no socket.
    const socket = this.#folder.length < 80 ? this.#folder : "";
    this.#keeper = new Deno.Command("/bin/sh", {
      args: [
        ...["-c", keeper, "keeper", this.#folder, `${this.#programs}/postgres`],
        ...["-D", `${this.#folder}/data`, "-k", socket, ...given],
      ],
      ...this.#surroundings(),
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#keeper.unref();
  }

  /** Waits until the server accepts connections. Returns undefined, or its log if it failed. */
  async #ready(): Promise<string | undefined> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const lines = readText(`${this.#folder}/data/postmaster.pid`).split("\n");
      if (lines[7]?.trim() === "ready") return undefined;
      const log = readText(`${this.#folder}/log`);
      if (log.includes("FATAL:  could not create any TCP/IP sockets")) return log;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return `PostgreSQL does not start: ${readText(`${this.#folder}/log`)}`;
  }

  async #signal(signal: string): Promise<void> {
    const keeper = this.#keeper;
    if (keeper === undefined) return;
    this.#keeper = undefined;
    keeper.ref();
    const writer = keeper.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${signal}\n`));
    await keeper.status;
    await writer.close().catch(() => {});
  }

  async #pid(): Promise<number> {
    return Number((await Deno.readTextFile(`${this.#folder}/data/postmaster.pid`)).split("\n")[0]);
  }

  #end(): void {
    try {
      if (this.#keeper) this.#keeper.kill("SIGTERM");
      else Deno.removeSync(this.#folder, { recursive: true });
    } catch {
      // It has ended already.
    }
  }

  #surroundings() {
    return {
      cwd: this.#folder,
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
      ...this.#owner,
    };
  }
}

/** A server that somebody else runs: tests make and drop databases, but never stop it. */
function externalServer(address: string): TestPostgres {
  const url = (database: string) => {
    const changed = new URL(address);
    changed.pathname = `/${database}`;
    return changed.href;
  };
  const home = new URL(address).pathname.slice(1) || "postgres";
  const never = () =>
    Promise.reject(
      new Error("The server of TEST_DATABASE_URL is not ours to stop: take a private one."),
    );
  return {
    url,
    createDatabase: (options) => createDatabase(url, home, options?.template),
    template: (name, build) => template(url, home, name, build),
    stop: never,
    start: never,
    freeze: never,
    thaw: never,
  };
}

/** Builds a template under another name, unless it exists. A lock makes other builders wait. */
async function template(
  url: (database: string) => string,
  home: string,
  name: string,
  build: (url: string) => Promise<void>,
): Promise<string> {
  const sql = postgres(url(home), { max: 1, onnotice: () => {} });
  try {
    await sql`select pg_advisory_lock(hashtext(${name}))`;
    const there = await sql`select from pg_database where datname = ${name}`;
    if (there.length > 0) return name;
    const built = await createDatabase(url, home);
    await build(built.url);
    await sql.unsafe(`alter database ${built.name} rename to ${name}`);
    return name;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function createDatabase(
  url: (database: string) => string,
  home: string,
  template = "template1",
): Promise<TestDatabase> {
  const name = `gateway_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const sql = sessionOf(url(home));
  // The default strategy logs each page, which takes three times the processor time.
  await sql.unsafe(`create database ${name} template ${template} strategy file_copy`);
  return {
    name,
    url: url(name),
    drop: async () => void await sql.unsafe(`drop database if exists ${name} with (force)`),
  };
}

const sessions = new Map<string, postgres.Sql>();

/**
 * Returns this process's one session for making and dropping databases at a server: to open a
 * session takes a fifth of the processor time of both. It connects again after a restart, and leaves
 * no timer that the gate would take for a test's.
 */
function sessionOf(address: string): postgres.Sql {
  const open = sessions.get(address);
  if (open !== undefined) return open;
  const sql = postgres(address, { max: 1, max_lifetime: null, onnotice: () => {} });
  sessions.set(address, sql);
  return sql;
}

/** Returns the folder with `initdb` and `postgres`: Debian's newest version, or one in PATH. */
export function programFolder(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const debian = exists(versions)
    ? [...Deno.readDirSync(versions)].map((entry) => entry.name).sort((a, b) => +b - +a)
      .map((version) => `${versions}/${version}/bin`)
    : [];
  const path = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  return [...debian, ...path].find((folder) =>
    exists(`${folder}/initdb`) && exists(`${folder}/postgres`)
  );
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the user to run PostgreSQL as, since it refuses to run as root. */
function unprivileged(): Owner {
  const users = readText("/etc/passwd").split("\n").map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres") ??
    users.find(([name]) => name === "nobody");
  return { uid: Number(found?.[2] ?? 65534), gid: Number(found?.[3] ?? 65534) };
}

function childrenOf(parent: number): number[] {
  return [...Deno.readDirSync("/proc")].map((entry) => Number(entry.name)).filter((process) => {
    // The program's name, in parentheses, may contain anything.
    const fields = readText(`/proc/${process}/stat`).split(") ").at(-1)?.split(" ");
    return Number(fields?.[1]) === parent;
  });
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
