/** What the document says of the service as a whole. */
export function information(version: string) {
  return {
    info: {
      title: "Demeter",
      version,
      description: paragraphs.join("\n\n"),
      license: {
        name: "Apache-2.0",
        url: "https://www.apache.org/licenses/LICENSE-2.0.html",
      },
      contact: { name: "The operator of this service" },
    },
    servers: [{ url: "http://127.0.0.1:8787", description: "A service started with the defaults" }],
  };
}

const paragraphs = [
  "Demeter is an LLM gateway: one address and one key in front of every model vendor. Each call is translated, limited, billed and recorded; each record can be exported, deleted and tied to a business outcome.",
  "**Keys.** `Authorization: Bearer dmt_…` everywhere; `X-API-Key` too, and `x-goog-api-key` on generate paths. `Bearer dmt_…;VENDOR_KEY` uses your own vendor key for that call. A key may be limited to scopes; one without scopes may call every endpoint.",
  "**Limits.** A token bucket per account: free has 60 requests a minute and a burst of 100, pro 600 and 1,000. Every authenticated answer carries `X-RateLimit-Limit`, `-Remaining` and `-Reset`; a 429 also `Retry-After`. A request body may have 32 MiB unless the operator says otherwise.",
  "**Retries.** A POST with `X-Request-ID` can be repeated for 24 hours: the same body gets the stored answer, streams too, and is charged once.",
  "**Errors.** Every error has `message`, `type` and `code` as strings, and the fields that the clients of its dialect look for. A wrong path or method is 404 `endpoint_not_found`; any other fault of a request is 400 and names the field by its path.",
  "**Prompt tags.** `/// APP`, `/// FLOW` and `/// COHORT` lines at the start of the first system or user text are recorded and removed before the vendor sees the prompt.",
];
