import type { Child } from "hono/jsx";

/**
 * Part of a page that changes by itself while something is under way: `refresh.js` replaces it by
 * what the page says then. Without script people reload.
 */
export function Live({ id, on, children }: { id: string; on: boolean; children?: Child }) {
  return (
    <div id={id} class="live" {...(on ? { "data-live": "" } : {})}>
      {on
        ? (
          <noscript>
            <p class="hint">Reload the page to see the progress.</p>
          </noscript>
        )
        : null}
      {children}
    </div>
  );
}

/** Whether a job goes on, so that its page changes by itself. */
export function isOpen({ state }: { state: string }): boolean {
  return state === "queued" || state === "running";
}

/** How far something is, as a bar with its figures beside it. */
export function Progress({ label, done, total }: { label: string; done: number; total: number }) {
  return (
    <span class="progress">
      <progress aria-label={label} value={String(done)} max={String(Math.max(1, total))}></progress>
      <span>{`${done.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`}</span>
    </span>
  );
}
