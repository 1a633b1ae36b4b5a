import { type Browser, chromium } from "playwright-core";

/** Debian's browser; the gate installs it where it may, and says what is skipped without it. */
const executablePath = "/usr/bin/chromium";

export function chromiumIsThere(): boolean {
  try {
    return Deno.statSync(executablePath).isFile;
  } catch {
    return false;
  }
}

/** Starts the browser. Root has no sandbox there, and containers little shared memory. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
