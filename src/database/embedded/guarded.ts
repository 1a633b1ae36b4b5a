import { PGlite } from "@electric-sql/pglite";

type Module = NonNullable<PGlite["Module"]>;
type ProtocolArguments = Parameters<PGlite["execProtocol"]>;

/**
 * Exit statuses of PGlite's C code that are normal: after a statement that failed, and after a
 * start.
 */
const ordinary: readonly unknown[] = [99, 100];

/**
 * A PGlite that fails every statement once its PostgreSQL has stopped midway: at a PANIC, such as
 * for lack of room for its log, or in a trap. PGlite itself takes that for the end of the statement
 * and goes on; a later statement then waits forever for a lock that nobody releases, and blocks the
 * thread.
 */
export class GuardedPGlite extends PGlite {
  /** Why it has stopped. */
  #stopped: { reason: unknown } | undefined;
  #guarded: Module | undefined;

  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    if (this.#stopped) throw this.#stopped.reason;
    if (this.mod && this.#guarded !== this.mod) this.#guard(this.mod);
    return super.execProtocolRawSync(message);
  }

  override execProtocol(...args: ProtocolArguments) {
    return this.#orStopped(() => super.execProtocol(...args));
  }

  override execProtocolStream(...args: ProtocolArguments) {
    return this.#orStopped(() => super.execProtocolStream(...args));
  }

  async #orStopped<T>(run: () => Promise<T>): Promise<T> {
    try {
      const answer = await run();
      if (!this.#stopped) return answer;
    } catch (thrown) {
      // PostgreSQL's last error tells more than how it stopped.
      if (!this.#stopped) throw thrown;
      this.#stopped.reason = thrown;
    }
    throw this.#stopped.reason;
  }

  #guard(module: Module): void {
    this.#guarded = module;
    const { _PostgresMainLoopOnce: run, _pq_buffer_remaining_data: remaining } = module;
    module._PostgresMainLoopOnce = () => {
      try {
        run();
      } catch (thrown) {
        if (!ordinary.includes(statusOf(thrown))) {
          this.#stopped ??= { reason: new WebAssembly.RuntimeError(String(thrown)) };
        }
        throw thrown;
      }
    };
    module._pq_buffer_remaining_data = () => this.#stopped ? 0 : remaining();
  }
}

function statusOf(thrown: unknown): unknown {
  return typeof thrown === "object" && thrown !== null && "status" in thrown
    ? thrown.status
    : undefined;
}
