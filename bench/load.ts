import { Agent, request as open } from "node:http";

/** One kind of call, made again and again. */
export interface Shot {
  baseUrl: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Makes calls from so many connections at once for a time; gives each call's milliseconds. */
export async function fire(shot: Shot, connections: number, ms: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const end = performance.now() + ms;
  const run = async () => {
    while (performance.now() < end) times.push(await once(shot, agent));
  };
  await Promise.all(Array.from({ length: connections }, run));
  agent.destroy();
  return times;
}

function once({ baseUrl, path, headers, body }: Shot, agent: Agent): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const call = open(
      baseUrl + path,
      { method: "POST", agent, headers: { "content-type": "application/json", ...headers } },
      (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`the answer was ${answer.statusCode}`));
        answer.on("data", () => {});
        answer.on("error", reject);
        answer.on("end", () => resolve(performance.now() - began));
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}
