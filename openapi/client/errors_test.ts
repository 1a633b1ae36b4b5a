import assert from "@std/assert";
import { GatewayError, isGatewayError } from "./errors.ts";
import { createGateway } from "./gateway.ts";
import { getStatus } from "./generated/sdk.gen.ts";

function answering(response: () => Response) {
  return createGateway({
    baseUrl: "http://service/",
    apiKey: "dmt_x",
    retry: { attempts: 1 },
    fetch: () => Promise.resolve(response()),
  });
}

async function thrownBy(response: () => Response): Promise<GatewayError> {
  const thrown = await getStatus({ client: answering(response) }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isGatewayError(thrown)) throw thrown;
  return thrown;
}

Deno.test("an error has code, type, status and what the headers say", async () => {
  const error = await thrownBy(() =>
    Response.json(
      { error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" } },
      {
        status: 429,
        headers: {
          "X-Request-ID": "r1",
          "Retry-After": "3",
          "X-RateLimit-Limit": "60",
          "X-RateLimit-Remaining": "0",
          "X-RateLimit-Reset": "1795251660",
        },
      },
    )
  );
  assert.equal(error.message, "Slow down.");
  assert.equal(error.code, "rate_limit_exceeded");
  assert.equal(error.type, "rate_limit_error");
  assert.equal(error.status, 429);
  assert.equal(error.requestId, "r1");
  assert.equal(error.retryAfterSeconds, 3);
  assert.deepEqual(error.rateLimit, {
    limit: 60,
    remaining: 0,
    resetAt: new Date(1795251660_000),
  });
});

Deno.test("an answer that isn't the service's is named as that", async () => {
  const error = await thrownBy(() => new Response("<html>Bad gateway", { status: 502 }));
  assert.equal(error.code, "unreadable_answer");
  assert.equal(error.status, 502);
});

Deno.test("a connection that breaks is an error with status 0 and its cause", async () => {
  const cause = new TypeError("reset");
  const error = await thrownBy(() => {
    throw cause;
  });
  assert.equal(error.code, "connection_failed");
  assert.equal(error.status, 0);
  assert.equal(error.cause, cause);
});

Deno.test("a failed connection says what Node hides in the cause", async () => {
  const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  const unknownHost = new Error("getaddrinfo ENOTFOUND x");
  for (const [cause, text] of [[unknownHost, unknownHost.message], [refused, "ECONNREFUSED"]]) {
    const error = await thrownBy(() => {
      throw new TypeError("fetch failed", { cause });
    });
    assert.equal(error.message, `No answer: fetch failed (${text})`);
  }
});

Deno.test("an unset variable and a missing URL are reported when the client is created", () => {
  const made = (baseUrl: unknown, apiKey: unknown) => () =>
    createGateway({ baseUrl: baseUrl as string, apiKey: apiKey as string });
  const unset = { name: "TypeError", message: /^apiKey: expected a service key .* got undefined$/ };
  assert.throws(made("http://x", undefined), unset);
  assert.throws(made("http://x", ""), /^TypeError: apiKey: .* got an empty string$/);
  for (const baseUrl of ["127.0.0.1:8787", "localhost:8787", "", undefined]) {
    assert.throws(
      made(baseUrl, "dmt_x"),
      /^TypeError: baseUrl: expected a URL such as https:/,
    );
  }
  for (const [key, text] of [["dmt_…", '"…"'], ["dmt_x\ndmt_y", '"\\n"']] as const) {
    const message = `apiKey: expected a key, got a text with ${text} in it`;
    assert.throws(made("http://x", key), { name: "TypeError", message });
  }
  assert.doesNotThrow(made("https://x/behind/a/path/", () => Promise.resolve("dmt_x")));
});

Deno.test("keys may end with the line of the file that they were read from", async () => {
  for (const [vendorKey, sent] of [[undefined, "dmt_x"], ["sk-y\n", "dmt_x;sk-y"]] as const) {
    let authorization: string | null = null;
    const client = createGateway({
      ...{ baseUrl: "http://x", apiKey: "dmt_x\r\n", vendorKey },
      fetch: (request) => {
        authorization = request.headers.get("authorization");
        return Promise.resolve(Response.json({}));
      },
    });
    await getStatus({ client });
    assert.equal(authorization, `Bearer ${sent}`);
  }
});

Deno.test("an abort stays an abort", async () => {
  const client = answering(() => {
    throw new DOMException("left", "AbortError");
  });
  await assert.rejects(getStatus({ client }), { name: "AbortError" });
});

Deno.test("with throwOnError false the caller gets the answer's own body", async () => {
  const body = { error: { message: "m", type: "t", code: "invalid_api_key" } };
  const client = answering(() => Response.json(body, { status: 401 }));
  const { error } = await getStatus({ client, throwOnError: false });
  assert.deepEqual(error, body);
});

Deno.test("a guard names the codes that it lets through", () => {
  const error = new GatewayError({ code: "insufficient_credits", message: "m" });
  assert.equal(error.type, "billing_error");
  assert.ok(isGatewayError(error, "insufficient_credits", "spend_cap_exceeded"));
  assert.ok(!isGatewayError(error, "rate_limit_exceeded"));
  assert.ok(!isGatewayError(new Error("other")));
});

Deno.test("in a page of another origin a failed call asks after CORS_ORIGINS", async () => {
  const failing = (baseUrl: string) =>
    createGateway({
      ...{ baseUrl, apiKey: "dmt_x", retry: { attempts: 1 } },
      fetch: () => Promise.reject(new TypeError("Failed to fetch")),
    });
  const messageOf = async (baseUrl: string) => {
    const thrown = await getStatus({ client: failing(baseUrl) }).catch((reason) => reason);
    assert.ok(isGatewayError(thrown, "connection_failed"));
    return thrown.message;
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "location");
  const atOrigin = (origin: string) =>
    Object.defineProperty(globalThis, "location", { value: { origin }, configurable: true });
  try {
    atOrigin("https://app.example");
    assert.equal(
      await messageOf("https://gateway.example"),
      "No answer: Failed to fetch. This page's origin is https://app.example: is it one of the service's CORS_ORIGINS?",
    );
    assert.equal(await messageOf("https://app.example"), "No answer: Failed to fetch");
    atOrigin("null");
    assert.equal(await messageOf("https://gateway.example"), "No answer: Failed to fetch");
  } finally {
    if (before) Object.defineProperty(globalThis, "location", before);
  }
  assert.equal(await messageOf("https://gateway.example"), "No answer: Failed to fetch");
});
