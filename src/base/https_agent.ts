import https from "node:https";
import tls from "node:tls";

/**
 * Opens connections for requests of `node:https`. With `NODE_EXTRA_CA_CERTS` set, Deno's own agent
 * asks for the permission to read the system's certificates, which can't be given by name;
 * connections of `node:tls` trust the variable's certificates without it.
 */
export function createHttpsAgent(options: https.AgentOptions): https.Agent {
  const createConnection = (target: tls.ConnectionOptions) => tls.connect(target);
  return Object.assign(new https.Agent(options), { createConnection });
}
