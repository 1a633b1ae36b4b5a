/** Asks what every client is asked, and prints what came of it: one line of JSON for each. */

export const { MODEL, LANE, EMBEDDING } = process.env;
export const calls = [];

export const tools = [
  { name: "get_weather", description: "Tells the weather of a city.", result: "sunny, 21 °C" },
  { name: "get_time", description: "Tells the time of a city.", result: "12:30" },
];

/** What a tool's function does. */
export function execute(name, { city }) {
  calls.push([name, city]);
  return tools.find((tool) => tool.name === name).result;
}

export const parameters = {
  type: "object",
  properties: { city: { type: "string", description: "Name of the city" } },
  required: ["city"],
  additionalProperties: false,
};

/** Schemas of the arguments and of the object, by the client's own zod. */
export const cityOf = (z) => z.object({ city: z.string().describe("Name of the city") });

export const personOf = (z) =>
  z.object({
    name: z.string(),
    age: z.number().int(),
    mood: z.enum(["glad", "sad"]),
    home: z.object({ city: z.string(), country: z.string().nullable() }),
  });

export const person = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer" },
    mood: { type: "string", enum: ["glad", "sad"] },
    home: {
      type: "object",
      properties: { city: { type: "string" }, country: { type: ["string", "null"] } },
      required: ["city", "country"],
      additionalProperties: false,
    },
  },
  required: ["name", "age", "mood", "home"],
  additionalProperties: false,
};

function* chain(error) {
  for (let one = error; one; one = one.cause ?? one.lastError ?? one.originalError) yield one;
}

function thrown(error) {
  const found = {
    thrown: error?.constructor?.name ?? typeof error,
    message: `${error?.name}: ${error?.message ?? JSON.stringify(error)}`.slice(0, 400),
  };
  for (const one of chain(error)) {
    const status = one.statusCode ?? one.status ?? one.code;
    if (typeof status === "number") found.status ??= status;
    const headers = one.headers ?? one.responseHeaders;
    const id = one.requestID ?? one.request_id ?? headers?.get?.("x-request-id") ??
      headers?.["x-request-id"];
    if (typeof id === "string") found.request_id ??= id;
  }
  return found;
}

export async function run({ ask, stream, tools, object, embed }) {
  const asks = JSON.parse(process.env.ASKS);
  const feature = async (name, run, model) => {
    if (!run || !model) return;
    calls.length = 0;
    const found = await run(model, asks[name]).catch(thrown);
    process.stdout.write(`${JSON.stringify({ feature: name, calls, ...found })}\n`);
  };
  await feature("whole", ask, MODEL);
  await feature("stream", stream, MODEL);
  await feature("tools", tools, MODEL);
  await feature("object", object, MODEL);
  await feature("embed", embed, EMBEDDING);
  await feature("missing", ask, process.env.MISSING);
  await feature("limited", ask, MODEL);
  await feature("repeated", ask, MODEL);
  await feature("broken", stream, MODEL);
  process.exit(0);
}
