import { frames, type Json, json, must, object, words } from "./frames.ts";
import { checkResponseObject, readUsage } from "./responses_object.ts";
import { contentOfItems, ItemWalk } from "./responses_items.ts";
import type { AnswerContent } from "./answer_content.ts";

/**
 * Checks a responses stream against responses.md §4 and §5, and returns what it says. Sequence
 * numbers have no gaps, the response begins before its items and ends after them, ids stay the
 * same, and the last object equals what the events before it said. Throws GrammarError.
 */
export function checkResponsesStream(stream: string | Uint8Array): AnswerContent {
  const walk = new ResponsesWalk();
  for (const [position, { event, data }] of frames(stream).entries()) {
    must(data !== "[DONE]", "[DONE] in a responses stream");
    const value = json(data);
    must(event !== undefined, "an event without its event: line");
    must(event === value.type, "event: line and type differ");
    must(value.sequence_number === position, `sequence_number is not ${position}`);
    walk.take(event, value);
  }
  return walk.end();
}

const lives = /^response\.(created|queued|in_progress|completed|incomplete|failed)$/;

class ResponsesWalk {
  readonly #items = new ItemWalk();
  #created: Json | undefined;
  #running = false;
  #last: Json | undefined;
  #error: AnswerContent["error"];

  take(type: string, event: Json): void {
    must(!this.#last, "something follows the terminal event");
    const life = lives.exec(type)?.[1];
    if (this.#error) {
      must(this.#created, "something follows the error event");
      must(life === "failed", "something but response.failed follows the error event");
    }
    if (type === "error") return this.#fail(event);
    if (!this.#created) must(life === "created", "the first event is not response.created");
    else if (!this.#running) must(life === "in_progress", "the second is not in_progress");
    if (life === undefined) return this.#items.take(type, event);
    this.#live(life, object(event.response, "response"));
  }

  end(): AnswerContent {
    const last = this.#last;
    const isRefused = this.#error && !this.#created;
    must(last || isRefused, "the terminal event is missing");
    const failed = !last || last.status === "failed";
    const output = this.#items.done;
    return {
      ending: failed ? "failed" : "finished",
      choices: last ? [contentOfItems(last, failed ? undefined : output)] : [],
      usage: last && last.usage !== null ? readUsage(object(last.usage, "usage")) : undefined,
      error: this.#error,
    };
  }

  #live(life: string, response: Json): void {
    checkResponseObject(response);
    must(response.status === life || life === "created", "event and status differ");
    switch (life) {
      case "created":
        must(!this.#created, "a second response.created");
        must(response.status === "in_progress", "a new response is not in_progress");
        this.#created = response;
        return this.#checkNew(response);
      case "in_progress":
        must(!this.#running, "a second response.in_progress");
        this.#running = true;
        return this.#checkNew(response);
    }
    must(life !== "queued", "response.queued without background");
    for (const key of ["id", "created_at", "model"]) {
      must(response[key] === this.#created?.[key], `${key} changed`);
    }
    this.#last = response;
    if (life === "failed") {
      const error = object(response.error, "response.error");
      this.#error = {
        code: words(error.code, "error.code"),
        message: words(error.message, "error.message"),
      };
      this.#items.checkAbandoned(response.output);
    } else {
      must(response.error === null, "an answer that ended well has an error");
      object(response.usage, "usage");
      this.#items.checkEnd(response.output, life);
    }
  }

  #checkNew(response: Json): void {
    must(response.id === this.#created?.id, "the response's id changed");
    must(response.usage === null, "usage before the end");
    must(Array.isArray(response.output) && response.output.length === 0, "output before the end");
  }

  /** Reads an error event: the only event of a stream, or followed by response.failed. */
  #fail(event: Json): void {
    this.#error = {
      code: words(event.code, "error code"),
      message: words(event.message, "error message"),
    };
    must("param" in event, "error event without param");
  }
}
