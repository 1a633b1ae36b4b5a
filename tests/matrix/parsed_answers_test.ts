/** Answers that the official libraries parse by a schema, whole and streamed, on every vendor. */
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import assert from "@std/assert";
import { z } from "zod";
import { sample } from "../support/sample.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { vendors } from "./vendors.ts";

const service = shared(startSimulatedService);

const choice = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("square"), side: z.number() }),
]);
const person = z.object({
  name: z.string(),
  age: z.number().int().min(0).max(150),
  nick: z.string().nullable(),
  shape: choice,
});
/** The library for OpenAI refuses these itself. */
const others = {
  "a list": z.array(person),
  "a choice": choice,
  "an optional property": z.object({ name: z.string(), nick: z.string().optional() }),
  "open names": z.object({ marks: z.record(z.string(), z.number()) }),
};

type Parse = (model: string, schema: z.ZodType) => Promise<unknown[]>;

const prompt = "Invent one.";
const messages = [{ role: "user" as const, content: prompt }];

function openai(): OpenAI {
  const { baseUrl, key } = service();
  return new OpenAI({ apiKey: key, baseURL: `${baseUrl}/chat/v1`, maxRetries: 0 });
}

const ofOpenAI: Record<string, Parse> = {
  "openai, chat": async (model, schema) => {
    const { completions } = openai().chat;
    const body = { model, messages, response_format: zodResponseFormat(schema, "one") };
    const answers = [
      await completions.parse(body),
      await completions.stream(body).finalChatCompletion(),
    ];
    return answers.map(({ choices }) => choices[0]!.message.parsed);
  },
  "openai, responses": async (model, schema) => {
    const { responses } = openai();
    const body = { model, input: prompt, text: { format: zodTextFormat(schema, "one") } };
    const answers = [await responses.parse(body), await responses.stream(body).finalResponse()];
    return answers.map(({ output_parsed }) => output_parsed);
  },
};

const ofOthers: Record<string, Parse> = {
  "@anthropic-ai/sdk": async (model, schema) => {
    const { baseUrl, key } = service();
    const client = new Anthropic({ apiKey: key, baseURL: `${baseUrl}/chat`, maxRetries: 0 });
    const format = { output_config: { format: zodOutputFormat(schema) } };
    const body = { model, max_tokens: 2000, messages, ...format };
    const answers = [
      await client.messages.parse(body),
      await client.messages.stream(body).finalMessage(),
    ];
    return answers.map(({ parsed_output }) => parsed_output);
  },
  "@google/genai": async (model, schema) => {
    const { baseUrl, key } = service();
    const { models } = new GoogleGenAI({
      apiKey: key,
      httpOptions: { baseUrl: `${baseUrl}/chat` },
    });
    const responseJsonSchema = z.toJSONSchema(schema);
    const config = { responseMimeType: "application/json", responseJsonSchema };
    const { text } = await models.generateContent({ model, contents: prompt, config });
    const stream = await models.generateContentStream({ model, contents: prompt, config });
    const pieces = await Array.fromAsync(stream, (piece) => piece.text ?? "");
    return [text!, pieces.join("")].map((one) => JSON.parse(one));
  },
};

/** In the gate each vendor gets a quarter of the further schemas from each library, others from each. */
const all = Deno.env.get("MATRIX") === "all";

for (const { label, model } of vendors) {
  for (const [name, parse] of Object.entries({ ...ofOpenAI, ...ofOthers })) {
    Deno.test(`${name}: the answer of ${label} is parsed by its schema`, async () => {
      const further = Object.hasOwn(ofOthers, name) ? Object.entries(others) : [];
      const tried = sample(further, { oneOf: 4, salt: label + name, all });
      for (const [form, schema] of [["a person", person] as const, ...tried]) {
        const parsed = await parse(`${label}/${model}`, schema);
        for (const value of parsed) assert.ok(schema.safeParse(value).success, form);
      }
    });
  }
}
