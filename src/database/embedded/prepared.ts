import { Buffer } from "node:buffer";
import { type messages, parse, type PGlite, protocol } from "@electric-sql/pglite";
import { released } from "../../base/gc_hint.ts";
import { pushAll } from "../../base/lists.ts";
import type { SqlRow } from "../database.ts";

/** Max prepared statements; the service repeats fewer texts than this. */
const maxStatements = 300;
/**
 * Plans are dropped once values of this many bytes, plus a fifth of all bytes before, have come
 * since they were made.
 */
const minGrowth = 4 * 1024 * 1024;

interface Statement {
  name: string;
  parameters: readonly number[];
  columns: readonly { name: string; parse: ((value: string) => unknown) | undefined }[];
}

/**
 * Prepared statements. PostgreSQL plans them as it does in any session: for the given values at
 * first, then once for all values if that's as good. PGlite's `query` parses and plans a text each
 * time, which for most of ours takes longer than running it. Callers must have the database to
 * themselves.
 */
export class PreparedStatements {
  /** By text; the least recently used one comes first. */
  readonly #statements = new Map<string, Statement>();
  readonly #database: PGlite;
  #nextName = 1;
  /** Bytes of all values so far, and how many there were when plans were last dropped. */
  #bytes = 0;
  #bytesBefore = 0;

  constructor(database: PGlite) {
    this.#database = database;
  }

  async query(text: string, values: readonly unknown[]): Promise<SqlRow[]> {
    await this.#forgetOutgrown();
    const statement = await this.#prepared(text);
    try {
      return await this.#run(statement, values);
    } catch (thrown) {
      // Its next use parses it again, which is needed if a column's type has changed.
      this.#statements.delete(text);
      await this.#close([statement]);
      throw thrown;
    }
  }

  /** Runs a statement that reads these lines from `/dev/blob`. */
  async copyIn(text: string, lines: readonly string[]): Promise<void> {
    const bytes = encoder.encode(lines.join(""));
    this.#bytes += bytes.length;
    await this.#database._handleBlob(asBlob(bytes));
    try {
      await this.#send(protocol.serialize.query(text));
    } finally {
      await this.#database._cleanupBlob();
    }
    released(bytes);
    await this.#forgetOutgrown();
  }

  /** Drops all statements, to be parsed again; after statements that may have changed tables. */
  async forget(): Promise<void> {
    const all = [...this.#statements.values()];
    this.#statements.clear();
    this.#bytesBefore = this.#bytes;
    await this.#close(all);
  }

  /**
   * Drops plans after tables have grown. A plan made for a small table may read all of it, and goes
   * on doing so while the table grows: only new statistics would make PostgreSQL check its size
   * again.
   */
  async #forgetOutgrown(): Promise<void> {
    if (this.#bytes - this.#bytesBefore > minGrowth + this.#bytesBefore / 5) await this.forget();
  }

  async #prepared(text: string): Promise<Statement> {
    const existing = this.#statements.get(text);
    if (existing) {
      this.#statements.delete(text);
      this.#statements.set(text, existing);
      return existing;
    }
    const statement = await this.#prepare(text);
    this.#statements.set(text, statement);
    if (this.#statements.size > maxStatements) {
      const [oldest, least] = this.#statements.entries().next().value!;
      this.#statements.delete(oldest);
      await this.#close([least]);
    }
    return statement;
  }

  async #prepare(text: string): Promise<Statement> {
    const name = `s${this.#nextName++}`;
    const messages = await this.#send(
      protocol.serialize.parse({ name, text }),
      protocol.serialize.describe({ type: "S", name }),
    );
    const fields = messages.find(isRowDescription)?.fields ?? [];
    return {
      name,
      parameters: parse.parseDescribeStatementResults(messages),
      columns: fields.map(({ name, dataTypeID }) => ({
        name,
        parse: this.#database.parsers[dataTypeID],
      })),
    };
  }

  async #run(
    { name, parameters, columns }: Statement,
    values: readonly unknown[],
  ): Promise<SqlRow[]> {
    const written = values.map((value, at) => this.#write(value, parameters[at]!));
    for (const text of written) this.#bytes += text?.length ?? 0;
    const bound = encodeBind(name, written);
    const messages = await this.#send(bound, protocol.serialize.execute());
    released(bound);
    const done = messages.find(isCommandComplete)?.text;
    if (mayChangeTables(done)) await this.forget();
    return messages.filter(isDataRow).map(({ fields }) =>
      Object.fromEntries(columns.map(({ name, parse }, at) => {
        const value = fields[at] ?? null;
        return [name, value === null || !parse ? value : parse(value)];
      }))
    );
  }

  #write(value: unknown, type: number): string | Uint8Array | null {
    if (value === null || value === undefined) return null;
    // In the binary format, which for `bytea` is the bytes themselves.
    if (value instanceof Uint8Array) return value;
    const write = this.#database.serializers[type];
    return write ? write(value) : String(value);
  }

  async #close(statements: readonly Statement[]): Promise<void> {
    if (statements.length === 0) return;
    await this.#send(
      ...statements.map(({ name }) => protocol.serialize.close({ type: "S", name })),
    );
  }

  /**
   * Sends messages and returns what the database answers, or throws its first error: after that it
   * skips messages up to the sync, which ends each round.
   */
  async #send(...messages: Uint8Array[]): Promise<Message[]> {
    const received: Message[] = [];
    const failures: unknown[] = [];
    for (const message of [...messages, protocol.serialize.sync()]) {
      try {
        pushAll(received, await this.#database.execProtocolStream(message, { syncToFs: false }));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw failures[0];
    return received;
  }
}

/**
 * Encodes a message that binds values to a statement's parameters: texts as text, bytes in the
 * binary format ("Bind" in PostgreSQL's manual, "Message Formats"). PGlite's own encoder copies
 * each value five times on the way, which for a picture of 4 MiB is 20 MiB until the next garbage
 * collection.
 */
function encodeBind(statement: string, values: readonly (string | Uint8Array | null)[]): Buffer {
  const nameLength = Buffer.byteLength(statement);
  const lengths = values.map((value) =>
    value === null ? 0 : typeof value === "string" ? Buffer.byteLength(value) : value.length
  );
  const fixed = 1 + 4 + 1 + (nameLength + 1) + 2 + 2 + 2;
  const size = fixed + lengths.reduce((sum, length) => sum + 2 + 4 + length, 0);
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = bytes.write("B", 0);
  at = bytes.writeInt32BE(size - 1, at);
  // The names of the portal (empty) and of the statement, each ended by a zero.
  at = bytes.writeUInt8(0, at);
  at += bytes.write(statement, at);
  at = bytes.writeUInt8(0, at);
  at = bytes.writeUInt16BE(values.length, at);
  for (const value of values) at = bytes.writeInt16BE(value instanceof Uint8Array ? 1 : 0, at);
  at = bytes.writeUInt16BE(values.length, at);
  for (const [index, value] of values.entries()) {
    at = bytes.writeInt32BE(value === null ? -1 : lengths[index]!, at);
    if (typeof value === "string") at += bytes.write(value, at);
    else if (value !== null) {
      bytes.set(value, at);
      at += value.length;
    }
  }
  // All columns of the result as text.
  bytes.writeInt16BE(0, at);
  return bytes;
}

const encoder = new TextEncoder();

/**
 * Returns the bytes as PGlite reads them. A `Blob` would copy them to the runtime and back: 5 µs for
 * each line of two kilobytes that it is made of.
 */
function asBlob({ buffer }: Uint8Array<ArrayBuffer>): Blob {
  const blob: Pick<Blob, "arrayBuffer"> = { arrayBuffer: () => Promise.resolve(buffer) };
  return blob as Blob;
}

type Message = messages.BackendMessage;

const harmless = /^(SELECT|INSERT|UPDATE|DELETE|MERGE)\b/;

/**
 * Whether a statement may have changed tables, judged by its command tag, such as `ALTER TABLE`.
 */
export function mayChangeTables(done: string | undefined): boolean {
  return done !== undefined && !harmless.test(done);
}

function isCommandComplete(message: Message): message is messages.CommandCompleteMessage {
  return message.name === "commandComplete";
}

function isRowDescription(message: Message): message is messages.RowDescriptionMessage {
  return message.name === "rowDescription";
}

function isDataRow(message: Message): message is messages.DataRowMessage {
  return message.name === "dataRow";
}
