import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { starvationTolerantTimeout } from "../../base/deadline.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import { formatArray, parseArray } from "../arrays.ts";
import { chunks } from "../chunks.ts";
import type {
  BytesRow,
  Database,
  QueryOptions,
  SqlRow,
  SqlValue,
  Transaction,
} from "../database.ts";
import {
  asAway,
  asFault,
  codedError,
  codeOf,
  connectTimeout,
  isSessionSound,
  isSqlState,
  readOnly,
  tooManyConnections,
} from "./faults.ts";
import { type Connection, Pool } from "./pool.ts";
import { type OpenTransaction, transact } from "../transaction.ts";

export interface PostgresTimeouts {
  /** For opening a session. */
  connectMs: number;
  /** For one of the connections, while all are in use. Default 5 seconds. */
  waitMs?: number;
  /** For an answer; afterwards another connection checks whether the server is alive. */
  answerMs: number;
  /** For an interactive read; then the server cancels it. Default 30 seconds. */
  readMs?: number;
  /** For a lock, unless the statement or its transaction says otherwise. Default 5 seconds. */
  lockMs?: number;
  /** For the next statement of a transaction; then the server ends its session. Default a minute. */
  idleTransactionMs?: number;
  /** A session that is not used for once or twice as long is ended. Default a minute. */
  unusedMs?: number;
}

/**
 * Connections per process; calls in flight hold none, so few are enough. Servers allow 100 by default,
 * for all processes together.
 */
const maxConnections = 10;
const maxReadConnections = 4;

/**
 * Max characters of copied rows in one write, which is encoded in one turn of the event loop. Nearly
 * every batch of records is smaller, and so waits for the socket only once.
 */
const sentCharacters = 4 * 1024 * 1024;

/** How long the socket of an ended session may take to tell the server. */
const lastWordsMs = 1000;

/**
 * Opens PostgreSQL at a URL. Connects once; further connections are opened as needed, and again after
 * an outage. Throws an Error of one line, without the password, if the server is unreachable or
 * refuses. Later, queries to an unreachable server throw `Fault("store_unavailable")` within seconds;
 * long queries of a live server are not interrupted.
 */
export async function openPostgres(url: string, options: Partial<PostgresTimeouts> & {
  /** The environment variable of the URL, for error messages. */
  variable?: string;
} = {}): Promise<Database> {
  const { variable = "DATABASE_URL" } = options;
  const { connectMs = 5000, waitMs = 5000, answerMs = 3000, readMs = 30_000 } = options;
  const { idleTransactionMs = 60_000, unusedMs = 60_000, lockMs = 5000 } = options;
  if (!URL.canParse(url)) {
    throw new Error(`${variable}: expected postgres://user:password@host:port/database.`);
  }
  const timeouts = { connectMs, waitMs, answerMs, readMs, lockMs, idleTransactionMs, unusedMs };
  const database = createDatabase(url, variable, timeouts);
  try {
    await database.ping();
    return database;
  } catch (thrown) {
    // Commands that only read can go on; the service checks again when it starts.
    if (codeOf(thrown) === readOnly) return database;
    await database.close();
    const cause = thrown instanceof Fault ? thrown.cause : thrown;
    throw new Error(`${variable}: ${startFailure(thrown, new URL(url))}`, { cause });
  }
}

function createDatabase(
  url: string,
  variable: string,
  timeouts: Required<PostgresTimeouts>,
): Database {
  let probing: Promise<void> | undefined;
  const lose = (thrown: unknown) => {
    for (const each of [pool, readers]) {
      // A server that accepts no writes still answers reads.
      if (codeOf(thrown) === readOnly) each.renew();
      else each.lost(thrown);
    }
  };
  const probe = async () => {
    const connection = createConnection();
    try {
      await connection.ready();
    } catch (thrown) {
      if (codeOf(thrown) === tooManyConnections) return;
      lose(thrown);
      throw thrown;
    } finally {
      connection.end(0).catch(() => {});
      probing = undefined;
    }
  };
  const createConnection = (statementMs?: number) =>
    new Session(url, timeouts, { probe: () => probing ??= probe(), lose }, statementMs);
  const { waitMs, readMs, unusedMs } = timeouts;
  const shared = { waitMs, unusedMs };
  const pool = new Pool(() => createConnection(), { size: maxConnections, ...shared });
  const readers = new Pool(() => createConnection(readMs), { size: maxReadConnections, ...shared });
  const use = <T>(from: Pool<Session>, work: (session: Session) => Promise<T>) =>
    variable === "DATABASE_URL" ? from.use(work) : from.use(work).catch((thrown) => {
      throw naming(variable, thrown);
    });
  return {
    kind: "postgres",
    query: (text, values, options) => use(pool, (session) => session.query(text, values, options)),
    eachRow: (text, values, onRow, options) =>
      use(pool, (session) => session.eachRow(text, values, onRow, options)),
    transaction: (work) => use(pool, async (session) => transact(await session.begin(), work)),
    async ping() {
      const [row] = await use(
        pool,
        (session) =>
          session.query("select current_setting('transaction_read_only') = 'on' as is_read_only"),
      );
      // Reads can go on: sessions are given up when a write fails.
      if (row?.is_read_only === true) throw asAway(codedError(readOnly));
    },
    reads: {
      query: (text, values, options) =>
        use(readers, (session) => session.query(text, values, options)),
    },
    async close() {
      await Promise.all([pool.close(), readers.close()]);
    },
  };
}

/** Returns the fault with a note that says which of two databases it is about. */
function naming(variable: string, thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || !thrown.note?.startsWith("PostgreSQL: ")) return thrown;
  const { code, message, cause } = thrown;
  return new Fault(code, { message, note: `${variable}: ${thrown.note}`, cause });
}

/** How sessions check the server that all of them share, and report its loss. */
interface ServerWatch {
  /** Rejects if the server can't be reached. */
  probe(): Promise<void>;
  /** The server is lost: sessions that were opened before are not used again. */
  lose(thrown: unknown): void;
}

/** A client of the driver with a single connection, so that the pool knows what runs on it. */
class Session implements Connection {
  readonly #sql: ReturnType<typeof postgres>;
  readonly #timeouts: PostgresTimeouts;
  readonly #server: ServerWatch;
  readonly #settings: string;
  /** How long the session's statements wait for a lock, unless they say otherwise; 0 is forever. */
  readonly #usualLockMs: number;
  /** What the session's `lock_timeout` is now. */
  #lockMs: number;
  #isOpen = false;
  /** Number of ended sessions: the driver reconnects silently. */
  #ended = 0;
  /** The one that the driver opened last; it has one at a time. */
  #socket: Socket | undefined;
  /** Fails the current query. */
  #cut: ((fault: Fault) => void) | undefined;
  gone = false;

  constructor(
    url: string,
    timeouts: Required<PostgresTimeouts>,
    server: ServerWatch,
    statementMs = 0,
  ) {
    this.#timeouts = timeouts;
    this.#server = server;
    // Statements with a limit to their time need none for locks.
    this.#usualLockMs = this.#lockMs = statementMs > 0 ? 0 : timeouts.lockMs;
    this.#settings = sessionSettings(timeouts.idleTransactionMs, statementMs, this.#usualLockMs);
    const address = driverAddress(url);
    this.#sql = postgres(address.url, {
      ...driverOptions,
      ...{ socket: (at: DriverAddress) => this.#socket = address.openSocket(at) },
      // `ready` has its own timeout.
      connect_timeout: 60 + timeouts.connectMs / 1000,
      onclose: () => {
        this.#isOpen = false;
        this.#ended++;
        this.#cut?.(sessionEnded());
      },
    });
  }

  async ready(): Promise<void> {
    if (this.#isOpen) return;
    // The driver would try the first one only.
    if (this.#sql.options.host.length > 1) throw asAway(codedError(severalHosts));
    // The driver's own timeout restarts whenever something in between hangs up.
    let isLate = false;
    const cancel = starvationTolerantTimeout(this.#timeouts.connectMs, () => {
      isLate = true;
      void this.end(0);
    });
    try {
      await this.#sql.unsafe(this.#settings);
      this.#lockMs = this.#usualLockMs;
      this.#isOpen = true;
    } catch (thrown) {
      // Whatever the server says: a wrong password or a renamed database is corrected as it runs.
      throw asAway(isLate ? codedError(connectTimeout) : thrown);
    } finally {
      cancel();
    }
  }

  async query<Row extends SqlRow>(
    text: string,
    values?: readonly SqlValue[],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    await this.#waitForLocks(options);
    return await this.#watched(() => this.#run(text, values, options)) as Row[];
  }

  async eachRow(
    text: string,
    values: readonly SqlValue[],
    onRow: (row: BytesRow) => void,
    options: QueryOptions = {},
  ): Promise<void> {
    await this.#waitForLocks(options);
    await this.#watched(() =>
      this.#bound(text, values, options).raw().forEach((row) => onRow(row as unknown as BytesRow))
    );
  }

  /** Sets how long the next statement waits for locks. Costs a round trip only where it changes. */
  async #waitForLocks({ lockMs = this.#usualLockMs }: QueryOptions): Promise<void> {
    if (lockMs === this.#lockMs) return;
    await this.#watched(() => this.#sql.unsafe(`set lock_timeout = ${lockMs}`));
    this.#lockMs = lockMs;
  }

  async #watched<T>(run: () => PromiseLike<T>): Promise<T> {
    const stopWatching = this.#endIfUnanswered();
    // Between a connection's error and its end the driver accepts queries that it never sends, and
    // answers them with other queries' rows after it has reconnected.
    const cut = Promise.withResolvers<never>();
    this.#cut = cut.reject;
    try {
      return await Promise.race([run(), cut.promise]);
    } catch (thrown) {
      const fault = asFault(thrown);
      // So a failed session is never used again, not even by queries that wait for it.
      if (fault instanceof Fault && !isSessionSound(fault)) void this.end(0);
      // After a failover that closed no connection, all of them still lead to the former primary.
      if (codeOf(fault) === readOnly) this.#server.lose(fault);
      throw fault;
    } finally {
      this.#cut = undefined;
      stopWatching();
    }
  }

  async begin(): Promise<OpenTransaction> {
    // Read first, so that a session that ends in between is noticed.
    const endedBefore = this.#ended;
    const isOurs = () => this.#ended === endedBefore && !this.gone;
    const check = () => {
      if (isOurs()) return;
      throw sessionEnded();
    };
    await this.query("begin");
    return {
      query: async (...statement) => {
        check();
        return await this.query(...statement);
      },
      copyIn: async (...rows) => {
        check();
        await this.#copyIn(...rows);
      },
      commit: async () => {
        check();
        await this.query("commit");
      },
      rollback: async () => {
        if (isOurs()) await this.query("rollback").catch(() => this.end(0));
      },
    };
  }

  async #copyIn(...[table, columns, lines]: Parameters<Transaction["copyIn"]>): Promise<void> {
    await this.#watched(async () => {
      const query = this.#sql.unsafe(`copy ${table} (${columns.join(", ")}) from stdin`);
      const stream = await query.writable();
      // For the driver the query ends with the stream; it calls these when the statement has ended.
      const ended = Promise.withResolvers<unknown>();
      Object.assign(query, { resolve: ended.resolve, reject: ended.reject });
      stream.on("error", ended.reject);
      for (const some of chunks(lines, ({ length }) => length, sentCharacters)) {
        if (stream.write(some.join(""))) continue;
        const drained = new Promise((resolve) => stream.once("drain", resolve));
        await Promise.race([drained, ended.promise]);
      }
      stream.end();
      await ended.promise;
    });
  }

  #bound(text: string, values: readonly SqlValue[], { forceCustomPlan = false }: QueryOptions) {
    // Type 0 leaves the types to the server, as in the other driver; this one would send an array
    // of bigints as a bigint.
    const bound = values.map((value) => value === null ? null : this.#sql.typed(value, 0));
    return this.#sql.unsafe(text, bound as never[], { prepare: !forceCustomPlan });
  }

  async #run(
    text: string,
    values: readonly SqlValue[] | undefined,
    options: QueryOptions,
  ): Promise<SqlRow[]> {
    // Without values, the simple protocol accepts several statements, as in migrations.
    if (values !== undefined && values.length > 0) {
      const query = this.#bound(text, values, options);
      try {
        return takeAll(await query);
      } finally {
        release(query);
      }
    }
    const result: SqlRow[] | SqlRow[][] = await this.#sql.unsafe(text);
    const last = result.at(-1);
    // Of several statements, returns the rows of the last one.
    return Array.isArray(last) ? [...last] : [...result as SqlRow[]];
  }

  /** Ends the session, and with it the query, if there is no answer and the server is unreachable. */
  #endIfUnanswered(): () => void {
    let answered = false;
    const wait = () => setTimeout(probe, this.#timeouts.answerMs);
    const probe = async () => {
      const alive = await this.#server.probe().then(() => true, () => false);
      if (answered) return;
      if (alive) timer = wait();
      else await this.end(0);
    };
    let timer = wait();
    return () => {
      answered = true;
      clearTimeout(timer);
    };
  }

  async end(timeoutMs: number): Promise<void> {
    this.gone = true;
    await this.#sql.end({ timeout: timeoutMs / 1000 });
    // The driver leaves the socket to a server that doesn't answer for another minute: attempts to
    // reach it would use up our descriptors, and its connections once it is back.
    const socket = this.#socket;
    socket?.setTimeout(lastWordsMs, () => socket.destroy());
  }
}

/**
 * The settings that a session begins with. Set by statements, since poolers refuse most of them as
 * parameters of a connection. A server, database or role may have other defaults.
 */
function sessionSettings(idleTransactionMs: number, statementMs: number, lockMs: number): string {
  const settings = Object.entries({
    // A machine that is gone closes no connection: its transaction would hold its locks for the two
    // hours of TCP. Our transactions wait for nothing but the database.
    idle_in_transaction_session_timeout: idleTransactionMs,
    // Statements wait for each other's rows and go on with what they find then.
    default_transaction_isolation: "read committed",
    // The format that `driverOptions` parses.
    bytea_output: "hex",
    // Patterns with backslashes, arrays with nulls and names of tables mean what they say.
    standard_conforming_strings: "on",
    array_nulls: "on",
    quote_all_identifiers: "off",
    // The more rows there are, the longer migrations, erasures, scrubs and exports take. One that
    // is cut off begins again, and would never end.
    statement_timeout: statementMs,
    // One that waited for a row that a forgotten session has locked would never end either, and use
    // up a connection: behind a locked account its calls would soon have all of them.
    lock_timeout: lockMs,
    // The pool ends idle sessions. If the server did, a query could be on its way to one.
    idle_session_timeout: 0,
  }).map(([name, value]) => `set ${name} = '${value}'`);
  return [...settings, conditionalSettings].join(";");
}

/**
 * PostgreSQL 15 and 16 have no `transaction_timeout`. A commit that the server may lose would lose
 * records, since the journal drops what is committed; other levels are the operator's choice. The
 * view `pg_settings` isn't asked: it builds a row for each of 350 settings, which took a seventh of
 * a session's start.
 */
const conditionalSettings = `select
  case when current_setting('transaction_timeout', true) is not null
    then set_config('transaction_timeout', '0', false) end,
  case when current_setting('synchronous_commit') = 'off'
    then set_config('synchronous_commit', 'on', false) end`;

/** Moves the rows out of the result, which stays with its query: see `release`. */
function takeAll(result: SqlRow[]): SqlRow[] {
  const rows = [...result];
  result.length = 0;
  return rows;
}

/**
 * Makes an ended query drop its values. V8 puts the closures that the driver's constructor assigns
 * into the old generation, so a query stays until a major collection, and until then every scavenge
 * copies what it refers to (docs/decisions, 0331 and 0375).
 */
function release(query: object): void {
  Object.assign(query, { args: [], parameters: [] });
}

function sessionEnded(): Fault {
  return new Fault("store_unavailable", { note: "PostgreSQL: the session ended" });
}

/** Element parsers of arrays, by the type's OID in `pg_type`. */
const arrayElements: Readonly<Record<string, (element: string) => unknown>> = {
  1000: (element) => element === "t",
  1007: Number,
  1009: String,
  1016: BigInt,
  1185: (element) => new Date(element),
};

const arrayTypes = Object.entries(arrayElements).map(([type, parse]) => [`array${type}`, {
  to: Number(type),
  from: [Number(type)],
  serialize: formatArray,
  parse: (text: string) => parseArray(text, parse),
}]);

/**
 * A socket with TCP_NODELAY, which the driver's own don't have: the end of a `copyIn` is a small
 * message of its own, and Nagle's algorithm holds it back until the server acknowledges the rows, up
 * to 40 ms later. The driver begins to write before it is connected, and notices if that fails.
 */
export function openPostgresSocket({ host: [host], port: [port], path }: DriverAddress): Socket {
  const socket = typeof path === "string" ? connect(path) : connect(port!, host!);
  socket.setNoDelay(true);
  // The driver checks the server's certificate against `host`, unless it is an IP address: then
  // node:tls takes `_host`, and `localhost` without it.
  return Object.assign(socket, { host, port, _host: host });
}

/** What the driver gets in place of a URL, whose IPv6 address it would cut off at the first colon. */
function driverAddress(url: string) {
  const { hostname } = new URL(url);
  if (!hostname.startsWith("[")) return { url, openSocket: openPostgresSocket };
  const host = [hostname.slice(1, -1)];
  const openSocket = (address: DriverAddress) => openPostgresSocket({ ...address, host });
  const named = Object.assign(new URL(url), { hostname: "localhost" });
  return { url: named.href, openSocket };
}

/** The address, as the driver has read it from the URL and the environment. */
interface DriverAddress {
  host: string[];
  port: number[];
  path: string | false | undefined;
}

const driverOptions = {
  max: 1,
  max_lifetime: null,
  // The pool ends sessions that nobody uses.
  idle_timeout: 0,
  backoff: () => 0,
  // The types are set below; fetching them would take a round trip per connection.
  fetch_types: false,
  onnotice: () => {},
  // The defaults of a server or role must not change the meaning of texts and dates.
  connection: { application_name: "llm-gateway", TimeZone: "UTC", DateStyle: "ISO" },
  types: {
    // Fifty times as fast as the driver's own, which goes through a buffer.
    bytea: {
      ...{ to: 17, from: [17] },
      serialize: (bytes: Uint8Array) => `\\x${bytes.toHex()}`,
      parse: (value: string) => Uint8Array.fromHex(value.slice(2)),
    },
    bigint: { to: 20, from: [20], serialize: String, parse: (value: string) => BigInt(value) },
    ...Object.fromEntries(arrayTypes),
  },
};

function startFailure(thrown: unknown, url: URL): string {
  const code = codeOf(thrown);
  // As the driver, which reads the environment.
  const host = url.host || "PGHOST (localhost if that is not set)";
  switch (code) {
    case severalHosts:
      return `${
        url.host || "PGHOST"
      } names several hosts; name one: for a failover, a name or virtual IP address that leads to the primary.`;
    case "28P01":
    case "28000":
      return `PostgreSQL at ${host} refuses this user or password; correct them in the address.`;
    case "3D000":
      return `PostgreSQL at ${host} has no database of that name; create it or correct the address.`;
    case tooManyConnections:
      return `PostgreSQL at ${host} takes no more connections (${code}); close others or raise its max_connections.`;
    default:
      if (code !== undefined && isSqlState(code)) {
        const text = messageOf(thrown instanceof Fault ? thrown.cause : thrown);
        // The driver sends parameters that it doesn't know, such as libpq's, to the server.
        const advice = code === undefinedObject ? "; remove it from the address" : "";
        return `PostgreSQL at ${host} takes no connection (${code}: ${
          text.replaceAll("\n", " ")
        })${advice}.`;
      }
      if (code === otherName) {
        return `PostgreSQL at ${host}: its certificate is for another host (${code}); use a name or IP address that the certificate contains.`;
      }
      if (code !== undefined && certificateCodes.test(code)) {
        return `PostgreSQL at ${host}: its certificate is not accepted (${code}); set DENO_CERT to the file of the CA that signed it, or correct the address.`;
      }
      return `PostgreSQL at ${host} can't be reached (${
        code ?? "unknown reason"
      }); start it or correct the address${
        url.searchParams.has("sslmode") ? ", with sslmode=disable if it offers no TLS" : ""
      }.`;
  }
}

/** Code of an address, in the URL or in `PGHOST`, that isn't of one server. */
const severalHosts = "SEVERAL_HOSTS";

/** SQLSTATE of a parameter that the server doesn't know. */
const undefinedObject = "42704";

/** node:tls's code of a certificate that is trusted, but doesn't contain the host. */
const otherName = "ERR_TLS_CERT_ALTNAME_INVALID";

/** As in `DEPTH_ZERO_SELF_SIGNED_CERT`, `UNABLE_TO_VERIFY_LEAF_SIGNATURE`, `CERT_HAS_EXPIRED`. */
const certificateCodes = /CERT|SIGNATURE/;
