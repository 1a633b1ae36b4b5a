import type { Socket } from "node:net";

/**
 * Stops a socket's reading for our own reasons, while the runtime pauses and resumes it for its own:
 * it resumes a socket at the end of each request, and one piece may contain hundreds.
 */
export class Valve {
  readonly #socket: Socket;
  readonly #pause: Socket["pause"];
  readonly #resume: Socket["resume"];
  readonly #reasons = new Set<string>();
  /** The runtime has paused the socket. */
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#pause = socket.pause;
    this.#resume = socket.resume;
    const pause = () => {
      this.#isPaused = true;
      return this.#pause.call(socket);
    };
    const resume = () => {
      this.#isPaused = false;
      return this.#reasons.size > 0 ? socket : this.#resume.call(socket);
    };
    socket.pause = pause;
    socket.resume = resume;
  }

  shut(reason: string): void {
    this.#reasons.add(reason);
    this.#pause.call(this.#socket);
  }

  open(reason: string): void {
    if (!this.#reasons.delete(reason) || this.#reasons.size > 0) return;
    if (!this.#isPaused && !this.#socket.destroyed) this.#resume.call(this.#socket);
  }
}
