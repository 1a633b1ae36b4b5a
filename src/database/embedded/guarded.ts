import { PGlite } from "@electric-sql/pglite";

type Module = NonNullable<PGlite["Module"]>;
type ProtocolArguments = Parameters<PGlite["execProtocol"]>;

/** What PGlite's C code ends a statement with that failed in the ordinary way, and a start. */
const ordinary: readonly unknown[] = [99, 100];

/**
 * A database that fails once its PostgreSQL has stopped where it stood: at a PANIC, as when there is
 * no room for its log, or in a trap. PGlite takes that for the end of the statement and goes on, and
 * a later one waits without end for a lock that nobody releases, and blocks the thread.
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
      // What PostgreSQL has said last tells more than how it stopped.
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
