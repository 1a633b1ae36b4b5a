import type { Work } from "./cpu.ts";
import { copies, run } from "./cpu.ts";

type Json = Record<string, unknown>;

/** Bodies of chat requests that are many of one thing. Other dialects get what they become there. */
export const requests: Readonly<Record<string, (chars: number) => Json>> = {
  "runs of = in an image": (chars) =>
    asked([user([image(run(chars, "=", "data:image/png;base64,A", "A"))])]),
  "runs of = in a file": (chars) =>
    asked([user([{ type: "file", file: { file_data: run(chars, "=", "", "A") } }])]),
  "turns of one role": (chars) => asked(copies(chars, 30, () => user("a"))),
  "turns by turns": (chars) =>
    asked(copies(chars, 60, () => [user("a"), { role: "assistant", content: "b" }]).flat()),
  "named turns": (chars) => asked(copies(chars, 45, () => ({ ...user("a"), name: "ann" }))),
  "system turns between": (chars) =>
    asked([user("a"), ...copies(chars, 35, () => ({ role: "system", content: "s" }))]),
  "system turns in front": (chars) =>
    asked([...copies(chars, 35, () => ({ role: "system", content: "s" })), user("a")]),
  "parts of a turn": (chars) =>
    asked([user(copies(chars, 28, () => ({ type: "text", text: "a" })))]),
  "marked parts": (chars) =>
    asked([
      user(copies(chars, 68, () => ({
        type: "text",
        text: "a",
        cache_control: { type: "ephemeral" },
      }))),
    ]),
  "images": (chars) =>
    asked([user(copies(chars, 70, () => image("data:image/png;base64,iVBORw0KGgo=")))]),
  "results out of order": (chars) => {
    const ids = copies(chars, 140, (index) => `call_${index}`);
    return asked([user("a"), calls(ids), ...ids.toReversed().map((id) => result(id))]);
  },
  "results of functions": (chars) =>
    asked([
      user("a"),
      ...copies(chars, 160, (index) => [
        { role: "assistant", content: null, function_call: { name: `f${index}`, arguments: "{}" } },
        { role: "function", name: `f${index}`, content: "x" },
      ]).flat(),
    ]),
  "a result of many images and a long id": (chars) =>
    asked([user("a"), calls([run(chars / 2, "i")]), {
      ...result(run(chars / 2, "i")),
      content: copies(chars / 2, 70, () => image("data:image/png;base64,iVBORw0KGgo=")),
    }]),
  "long ids": (chars) => asked([user("a"), calls([run(chars, "é")]), result(run(chars, "é"))]),
  "arguments of braces": (chars) =>
    asked([user("a"), calls(["c"], JSON.stringify({ a: run(chars, '{"\\') })), result("c")]),
  "tools with names alike": (chars) =>
    asked([user("a")], {
      tools: copies(chars, 80, (index) => tool(`a${".:/ "[index % 4]}${index >> 2}`)),
    }),
  "tools, all of them allowed": (chars) => {
    const names = copies(chars, 140, (index) => `tool_${index}`);
    return asked([user("a")], {
      tools: names.map((name) => tool(name)),
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: {
          mode: "auto",
          tools: names.toReversed().map((name) => ({ type: "function", function: { name } })),
        },
      },
    });
  },
  "tools named with underscores": (chars) =>
    asked([user("a")], {
      tools: [
        tool("1"),
        ...copies(64 * 60, 60, (index) => tool(`${"_".repeat(index + 1)}1`.slice(0, 64))),
        ...copies(chars, 90, (index) => tool(`${index}`)),
      ],
    }),
  "custom tools and their calls": (chars) => {
    const ids = copies(chars, 200, (index) => `call_${index}`);
    return asked([user("a"), {
      role: "assistant",
      tool_calls: ids.map((id) => ({ id, type: "custom", custom: { name: id, input: "x" } })),
    }, ...ids.map((id) => result(id))], {
      tools: ids.map((name) => ({ type: "custom", custom: { name } })),
    });
  },
  "tag lines": (chars) => asked([user(run(chars, "/// APP a\n", "", "hello"))]),
  "stop sequences": (chars) => asked([user("a")], { stop: copies(chars, 6, () => "abc") }),
  "unknown fields": (chars) =>
    asked([user("a")], Object.fromEntries(copies(chars, 12, (index) => [`x${index}`, 1]))),
  "unknown fields of parts": (chars) =>
    asked([
      user(copies(chars, 40, (index) => ({ type: "text", text: "a", [`x${index}`]: 1 }))),
    ]),
};

const withName = (index: number, value: unknown) => [`p${index}`, value] as const;

/** Schemas that are many of one thing: of tools, and of answers. */
export const schemas: Readonly<Record<string, (chars: number) => Json>> = {
  "references to anchors": (chars) => {
    const names = copies(chars, 60, (index) => `a${index}`);
    return object(names.map((name) => [name, { $ref: `#${name}` }]), {
      $defs: Object.fromEntries(names.map((name) => [name, { $anchor: name, type: "string" }])),
    });
  },
  "references to ids": (chars) => {
    const names = copies(chars, 60, (index) => `a${index}`);
    return object(names.map((name) => [name, { $ref: name }]), {
      $defs: Object.fromEntries(names.map((name) => [name, { $id: name, type: "string" }])),
    });
  },
  "references to nothing": (chars) =>
    object(copies(chars, 30, (i) => withName(i, { $ref: `#x${i}` }))),
  "references below a long id": (chars) => ({
    $id: run(chars / 2, "i"),
    ...object(copies(chars / 2, 50, (i) => withName(i, { $ref: "#/$defs/a" }))),
    $defs: { a: { type: "string" } },
  }),
  "references by pointers": (chars) => ({
    ...object(copies(chars, 50, (i) => withName(i, { $ref: "#/$defs/a" }))),
    $defs: { a: { type: "string" } },
  }),
  "alternatives that are references": (chars) => ({
    type: "object",
    properties: {},
    anyOf: copies(chars, 40, () => ({ $ref: "#last" })),
    $defs: { a: { type: "object" }, b: { $anchor: "last", type: "object" } },
  }),
  "all of many": (chars) => ({
    type: "object",
    allOf: copies(
      chars,
      60,
      (i) => object([withName(i, { type: "string" })], { required: [`p${i}`] }),
    ),
  }),
  "all of many, below": (chars) =>
    object([["p", {
      type: "object",
      allOf: copies(chars, 60, (i) =>
        object([withName(i, { type: "string" })], { required: [`p${i}`] })),
    }]]),
  "any of many": (chars) =>
    object([["p", { anyOf: copies(chars, 30, (i) => ({ type: "string", description: `${i}` })) }]]),
  "any of many with one name": (chars) => ({
    type: "object",
    anyOf: [
      object([["p", { type: "string", description: run(chars / 2, "d") }]]),
      ...copies(chars / 2, 80, (i) => object([["p", { type: "string", description: `${i}` }]])),
    ],
  }),
  "required names": (chars) => {
    const names = copies(chars, 40, (index) => `p${index}`);
    return object(names.map((name) => [name, { type: "string" }]), {
      required: names.toReversed(),
    });
  },
  "values to choose from": (chars) =>
    object([["p", { type: "string", nullable: true, enum: copies(chars, 8, (i) => `v${i}`) }]]),
  "types": (chars) => object([["p", { type: copies(chars, 10, () => "string"), title: "t" }]]),
  "a long name with losses within": (chars) =>
    object([[
      run(chars / 2, "n"),
      Object.fromEntries(copies(chars / 2, 14, (i) => [`k${i}`, { a: 1 }])),
    ]]),
  "schemas in schemas": (chars) => {
    let schema: Json = { type: "string" };
    for (let left = Math.min(90, chars / 30); left > 0; left--) schema = object([["p", schema]]);
    return object(copies(chars, 5000, (i) => withName(i, schema)));
  },
  "definitions that double": (chars) => {
    const defs = copies(12 * 50, 50, (i) => [
      `d${i}`,
      object([["a", { $ref: `#/$defs/d${i + 1}` }], ["b", { $ref: `#/$defs/d${i + 1}` }]]),
    ]);
    const filler = { description: run(chars, "x") };
    return {
      ...object([["p", { $ref: "#/$defs/d0" }]], filler),
      $defs: { ...Object.fromEntries(defs), d12: { type: "string" } },
    };
  },
};

/** One schema as a tool's and as the answer's, strict and not. */
export function ofSchema(schema: Json): Json[] {
  const format = (strict: boolean) => ({
    response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict } },
  });
  const tools = (strict: boolean) => ({ tools: [tool("f", schema, strict)] });
  return [tools(false), tools(true), format(false), format(true)].map((more) =>
    asked([user("a")], more)
  );
}

/** Tools of which each has a small schema that becomes large. */
export const swellingTools: Work = (chars) => {
  const defs = Object.fromEntries(copies(13 * 50, 50, (i) => [`d${i}`, {
    type: "object",
    properties: { a: { $ref: `#/$defs/d${i + 1}` }, b: { $ref: `#/$defs/d${i + 1}` } },
  }]));
  const schema = object([["p", { $ref: "#/$defs/d0" }]], {
    $defs: { ...defs, d13: { type: "string" } },
  });
  const body = asked([user("a")], {
    tools: copies(chars, 1400, (i) => tool(`t${i}`, schema, true)),
  });
  return () => body;
};

function asked(messages: unknown[], more: Json = {}): Json {
  return { model: "vendor-x/m", messages, ...more };
}

function user(content: unknown): Json {
  return { role: "user", content };
}

function image(url: string): Json {
  return { type: "image_url", image_url: { url } };
}

function calls(ids: readonly string[], args = "{}"): Json {
  return {
    role: "assistant",
    content: null,
    tool_calls: ids.map((id) => ({
      id,
      type: "function",
      function: { name: "f", arguments: args },
    })),
  };
}

function result(id: string): Json {
  return { role: "tool", tool_call_id: id, content: "x" };
}

function tool(name: string, parameters?: Json, strict?: boolean): Json {
  return {
    type: "function",
    function: { name, ...(parameters ? { parameters } : {}), ...(strict ? { strict } : {}) },
  };
}

function object(properties: (readonly [string, unknown])[], more: Json = {}): Json {
  return { type: "object", properties: Object.fromEntries(properties), ...more };
}
