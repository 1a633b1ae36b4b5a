/// <reference lib="deno.worker" />
/** Asks a service whether it lives, over and over, and tells the longest wait when it is asked. */
let worstMs = 0;
let toldMs = 0;
let isAsking = false;

self.onmessage = ({ data }: MessageEvent<{ address?: string }>) => {
  if (data.address !== undefined && !isAsking) {
    isAsking = true;
    void ask(data.address);
  }
  self.postMessage(worstMs);
  worstMs = 0;
  toldMs = performance.now();
};

async function ask(address: string): Promise<void> {
  for (;;) {
    const begun = performance.now();
    const answer = await fetch(address);
    await answer.body?.cancel();
    // A wait that began before is not of what is looked at now.
    if (begun >= toldMs) worstMs = Math.max(worstMs, performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
