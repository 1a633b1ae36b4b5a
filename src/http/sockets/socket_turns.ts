import type { SelectableCall } from "../../shared/interaction.ts";

/**
 * Remembers the last response of each socket, so that the next request can continue it although
 * nothing was stored (`store: false`). The total is bounded: the oldest turn of the account that
 * holds the most is forgotten first, and its caller has to send the whole conversation, as over
 * HTTP. So no account can push out the turns of others, not even by warm-ups, which cost nothing.
 */
export interface SocketTurns {
  /** Remembers a turn, unless `call`, which produced it, was erased while it was under way. */
  remember(socket: object, accountId: number, turn: SocketTurn, call?: SelectableCall): void;
  /** Returns the socket's last turn if it has this id. */
  find(socket: object, responseId: string): SocketTurn | undefined;
  /** Forgets a closed socket; a call of it that is still under way is not remembered either. */
  closed(socket: object): void;
  /** Forgets the turns that hold text of these calls. */
  forget(transactionIds: readonly string[]): void;
}

export interface SocketTurn {
  readonly responseId: string;
  /** The stored response that its items follow. */
  readonly storedId?: string | undefined;
  /** JSON text of all items since then, the answer's included, without brackets. */
  readonly itemsText: string;
  /**
   * How many UTF-16 units of `itemsText` are stored in rows of calls. The rest came by warm-ups,
   * which have no rows.
   */
  readonly recordedUnits: number;
  /** The calls whose text it holds. */
  readonly sources: readonly string[];
}

interface Remembered extends SocketTurn {
  readonly accountId: number;
}

export function createSocketTurns({ maxChars, isErased }: {
  /** Limit on the UTF-16 units of all sockets together. */
  maxChars: number;
  isErased: (call: SelectableCall) => boolean;
}): SocketTurns {
  /** Oldest first. */
  const turns = new Map<object, Remembered>();
  const closed = new WeakSet<object>();
  /** UTF-16 units by account. */
  const held = new Map<number, number>();
  let chars = 0;
  const count = (accountId: number, by: number) => {
    chars += by;
    const now = (held.get(accountId) ?? 0) + by;
    if (now > 0) held.set(accountId, now);
    else held.delete(accountId);
  };
  const drop = (socket: object) => {
    const turn = turns.get(socket);
    if (!turn) return;
    turns.delete(socket);
    count(turn.accountId, -turn.itemsText.length);
  };
  const dropOldest = (accountId: number) => {
    for (const [socket, turn] of turns) {
      if (turn.accountId === accountId && turn.itemsText !== "") return drop(socket);
    }
  };
  return {
    remember(socket, accountId, turn, call) {
      drop(socket);
      if (closed.has(socket) || turn.itemsText.length > maxChars / 4) return;
      if (call && isErased(call)) return;
      turns.set(socket, { ...turn, accountId });
      count(accountId, turn.itemsText.length);
      while (chars > maxChars) dropOldest(largestOf(held));
    },
    find(socket, responseId) {
      const turn = turns.get(socket);
      return turn?.responseId === responseId ? turn : undefined;
    },
    closed(socket) {
      closed.add(socket);
      drop(socket);
    },
    forget(transactionIds) {
      const gone = new Set(transactionIds);
      for (const [socket, { sources }] of turns) {
        if (sources.some((id) => gone.has(id))) drop(socket);
      }
    },
  };
}

/** Returns the account that holds the most. */
function largestOf(held: ReadonlyMap<number, number>): number {
  let [largest, most] = [0, -1];
  for (const [accountId, chars] of held) {
    if (chars > most) [largest, most] = [accountId, chars];
  }
  return largest;
}
