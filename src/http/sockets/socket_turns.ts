/**
 * What sockets remember of their last response, so that the next request can continue it although
 * nothing was stored (`store: false`). Bounded in all: the oldest are forgotten first, and their
 * callers send the conversation itself, as over HTTP.
 */
export interface SocketTurns {
  remember(socket: object, turn: SocketTurn): void;
  /** The socket's last turn if it has this id. */
  find(socket: object, responseId: string): SocketTurn | undefined;
  drop(socket: object): void;
  /** Forgets the text of these calls. */
  forget(transactionIds: readonly string[]): void;
}

export interface SocketTurn {
  readonly responseId: string;
  /** JSON text of all items so far, the answer's included, without brackets. */
  readonly itemsText: string;
  /** The calls whose text it holds. */
  readonly sources: readonly string[];
}

/** `maxChars`: UTF-16 units of all sockets together. */
export function createSocketTurns(maxChars: number): SocketTurns {
  const turns = new Map<object, SocketTurn>();
  let chars = 0;
  const drop = (socket: object) => {
    chars -= turns.get(socket)?.itemsText.length ?? 0;
    turns.delete(socket);
  };
  return {
    remember(socket, turn) {
      drop(socket);
      if (turn.itemsText.length > maxChars / 4) return;
      turns.set(socket, turn);
      chars += turn.itemsText.length;
      for (const oldest of turns.keys()) {
        if (chars <= maxChars) return;
        drop(oldest);
      }
    },
    find(socket, responseId) {
      const turn = turns.get(socket);
      return turn?.responseId === responseId ? turn : undefined;
    },
    drop,
    forget(transactionIds) {
      const gone = new Set(transactionIds);
      for (const [socket, { sources }] of turns) {
        if (sources.some((id) => gone.has(id))) drop(socket);
      }
    },
  };
}
