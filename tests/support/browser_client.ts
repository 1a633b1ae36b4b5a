/** An HTTP client that keeps cookies like a browser, but doesn't follow redirects by itself. */
export class BrowserClient {
  readonly #cookies = new Map<string, string>();
  /** The `Sec-Fetch-Site` header to send: whether the request comes from the same site. */
  site: "same-origin" | "cross-site" | undefined;
  /** Path of the page to send as `Referer`. */
  page: string | undefined;

  constructor(readonly baseUrl: string) {}

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(name, value);
  }

  /** Gets a path of the service, or a whole address; cookies are sent only to the service. */
  async get(address: string): Promise<Answer> {
    return await this.#send(address, { method: "GET" });
  }

  async post(path: string, fields: Record<string, string | string[]>): Promise<Answer> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) body.append(name, one);
    }
    return await this.#send(path, { method: "POST", body });
  }

  /** Gets a page and sends a form with that page's token. */
  async submit(
    page: string,
    path: string,
    fields: Record<string, string | string[]> = {},
  ): Promise<Answer> {
    return await this.post(path, { csrf: csrfIn((await this.get(page)).text), ...fields });
  }

  /** Gets an address and follows redirects, also to other sites, at most ten. */
  async follow(address: string): Promise<Answer> {
    let answer = await this.get(address);
    for (let step = 0; answer.location !== undefined && step < 10; step++) {
      answer = await this.get(answer.location);
    }
    return answer;
  }

  async #send(address: string, init: RequestInit): Promise<Answer> {
    const url = new URL(address, this.baseUrl);
    const isOurs = url.origin === this.baseUrl;
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = new Headers(isOurs && cookie !== "" ? { cookie } : {});
    if (isOurs && this.site !== undefined) headers.set("sec-fetch-site", this.site);
    if (isOurs && this.page !== undefined) headers.set("referer", this.baseUrl + this.page);
    const answer = await fetch(url, { redirect: "manual", headers, ...init });
    if (isOurs) { for (const line of answer.headers.getSetCookie()) this.#keep(line); }
    return {
      status: answer.status,
      headers: answer.headers,
      location: answer.headers.get("location") ?? undefined,
      text: await answer.text(),
    };
  }

  #keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    // Browsers drop larger ones.
    if (name.length + value.length > 4096) return;
    if (/max-age=0/i.test(line)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  location: string | undefined;
  text: string;
}

/** Returns the token of a page's forms. */
export function csrfIn(text: string): string {
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
}
