/** The most expensive bodies that we know of, by what they are expensive in. */

const chat = (model: string, rest: object) => JSON.stringify({ model, max_tokens: 16, ...rest });

/** `n` bytes, about, of each; `path` is where they are posted. */
export interface Hostile {
  readonly name: string;
  readonly path: string;
  body(bytes: number): string;
}

const completions = "/chat/v1/chat/completions";

export const hostileBodies: readonly Hostile[] = [
  {
    name: "empty messages",
    path: completions,
    body: (bytes) =>
      `{"model":"vendor-b/gpt-4.1","messages":[${"{},".repeat(Math.floor(bytes / 3))}{}]}`,
  },
  {
    name: "empty arrays in a field nobody knows",
    path: completions,
    body: (bytes) =>
      `{"model":"vendor-b/gpt-4.1","messages":[{"role":"user","content":"x"}],"unknown":[${
        "[],".repeat(Math.floor(bytes / 3))
      }[]]}`,
  },
  {
    name: "brackets within brackets",
    path: completions,
    body: (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  },
  {
    name: "wrong parts of a generate request",
    path: "/chat/v1/models/vendor-d%2Fgemini-2.5-flash:generateContent",
    body: (bytes) => `{"contents":[{"parts":[${"1,".repeat(Math.floor(bytes / 2))}1]}]}`,
  },
  {
    name: "small parts over many messages",
    path: completions,
    body: (bytes) => {
      const part = '{"type":"text","text":"a"}';
      const message = `{"role":"user","content":[${Array(50).fill(part).join(",")}]}`;
      const count = Math.floor(bytes / (message.length + 1));
      return `{"model":"vendor-c/claude-haiku-5-5","messages":[${
        Array(count).fill(message).join(",")
      }]}`;
    },
  },
  {
    name: "a run of equals signs for a picture",
    path: completions,
    body: (bytes) =>
      chat("vendor-c/claude-haiku-5-5", {
        messages: [{
          role: "user",
          content: [{
            type: "image_url",
            image_url: { url: `data:image/png;base64,${"=".repeat(bytes)}x` },
          }],
        }],
      }),
  },
  {
    name: "references to anchors",
    path: completions,
    body: (bytes) => {
      const count = Math.floor(bytes / 60);
      const names = Array.from({ length: count }, (_, at) => at);
      return chat("vendor-c/claude-haiku-5-5", {
        messages: [{ role: "user", content: "x" }],
        tools: [{
          type: "function",
          function: {
            name: "f",
            parameters: {
              type: "object",
              properties: Object.fromEntries(names.map((at) => [`p${at}`, { $ref: `#a${at}` }])),
              $defs: Object.fromEntries(names.map((at) => [`d${at}`, { $anchor: `a${at}` }])),
            },
          },
        }],
      });
    },
  },
  {
    name: "many short turns of one role",
    path: completions,
    body: (bytes) =>
      chat("vendor-d/gemini-2.5-flash", {
        messages: Array(Math.floor(bytes / 32)).fill({ role: "user", content: "a" }),
      }),
  },
  {
    name: "tokens' beginnings that a vendor's error may quote",
    path: completions,
    body: (bytes) =>
      chat("vendor-b/gpt-4.1", {
        messages: [{ role: "user", content: `[error:400] ${"eyJ".repeat(bytes / 3)}` }],
      }),
  },
  {
    name: "quotes and backslashes",
    path: completions,
    body: (bytes) =>
      chat("vendor-c/claude-haiku-5-5", {
        messages: [{ role: "user", content: '\\"'.repeat(bytes / 8) }],
      }),
  },
  {
    name: "tag lines",
    path: completions,
    body: (bytes) =>
      chat("vendor-b/gpt-4.1", {
        messages: [{ role: "user", content: "/// APP a\n".repeat(bytes / 11) }],
      }),
  },
];
