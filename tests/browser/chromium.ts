import {
  type Browser,
  type BrowserContext,
  chromium,
  type Cookie,
  type Page,
} from "playwright-core";
import { sample } from "../support/sample.ts";

export type Scheme = "light" | "dark";

export const desktop = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** `THEMES=all` looks at pages in both colour schemes and both sizes, the gate in one of each. */
export const allLooks = Deno.env.get("THEMES") === "all";

/** The colour schemes in which the pages of a test are looked at; its name decides on the gate's. */
export function schemesFor(test: string): Scheme[] {
  return sample(["light", "dark"], { oneOf: 2, salt: test, all: allLooks });
}

/** Colour schemes with sizes; in the gate light on a desk or dark on a phone, as the name decides. */
export function looksFor(test: string): { scheme: Scheme; viewport: typeof desktop }[] {
  const looks = [
    { scheme: "light", viewport: desktop },
    { scheme: "dark", viewport: phone },
    { scheme: "light", viewport: phone },
    { scheme: "dark", viewport: desktop },
  ] as const;
  return allLooks ? [...looks] : sample(looks.slice(0, 2), { oneOf: 2, salt: test });
}

/** Debian's Chromium: the one without windows, which takes half the time, if it is there. */
const executables = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** The gate installs it where it may, and says what is skipped without it. */
export function chromiumIsThere(): boolean {
  return executables.some(isFile);
}

/** Starts the browser. Root has no sandbox there, and containers little shared memory. */
export async function startChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: executables.find(isFile) ?? executables[0]!,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** A page whose console errors, thrown errors and policy violations are collected. */
export interface WatchedPage {
  page: Page;
  context: BrowserContext;
  complaints: string[];
}

export async function openPage(
  browser: Browser,
  options: {
    viewport?: { width: number; height: number };
    scheme?: Scheme;
    /** Whose session it has. */
    cookies?: readonly Cookie[];
    /** Complaints about pages of other origins are theirs. */
    origin?: string;
    /** Whether scripts run; true by default. */
    scripts?: boolean;
  } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: options.viewport ?? desktop,
    colorScheme: options.scheme ?? "light",
    deviceScaleFactor: 1,
    reducedMotion: "reduce",
    javaScriptEnabled: options.scripts ?? true,
  });
  // A busy machine is slow; what never comes fails all the same.
  context.setDefaultTimeout(120_000);
  if (options.cookies) await context.addCookies(options.cookies);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (!message.location().url.startsWith(options.origin ?? "")) return;
    if (message.type() === "error" || /Content Security Policy/i.test(message.text())) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (thrown) => complaints.push(String(thrown)));
  return { page, context, complaints };
}

/**
 * Widths of the page's pictures, once each is there; throws when one can't be shown. Evaluated from
 * outside the page: `waitForFunction` polls inside it, where its content policy forbids that.
 */
export async function pictureWidths(page: Page): Promise<number[]> {
  return await page.$$eval("img", (images) =>
    Promise.all(images.map(async (one) => {
      one.loading = "eager";
      await one.decode();
      return one.naturalWidth;
    })));
}

/** Chromium's compositor now and then has no picture to give when the machine is busy. */
export async function takePicture(page: Page, path: string): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      await page.screenshot({ path });
      return;
    } catch (thrown) {
      if (tries === 5 || !/Unable to capture screenshot/.test(String(thrown))) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
