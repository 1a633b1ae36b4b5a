import net from "node:net";
import tls from "node:tls";

/** Opens a connection, TLS included, and returns its socket at once. What comes goes to `read`. */
export type Connector = (target: ConnectTarget, read: ReadPiece, done: ConnectDone) => net.Socket;

/** Takes what came, which is its own from then on. False: nothing more until the socket's `resume`. */
export type ReadPiece = (piece: Uint8Array) => boolean;

export interface ConnectTarget {
  /** `http:` or `https:`. */
  readonly protocol: string;
  /** With the port, unless it is the protocol's own. */
  readonly host: string;
  /** An IPv6 address without brackets. */
  readonly hostname: string;
  /** Empty where it is the protocol's own. */
  readonly port: string;
}

/** Called once, unless the socket is destroyed before. */
type ConnectDone = (
  ...result: [error: null, socket: net.Socket] | [error: Error, socket: null]
) => void;

export interface ConnectOptions {
  /** Finds the addresses of a name; the system's by default. */
  readonly lookup?: NonNullable<net.TcpNetConnectOpts["lookup"]>;
  /** Certificates that are trusted in place of the well-known ones. */
  readonly ca?: string;
  /** True: whatever the environment says of certificates. */
  readonly rejectUnauthorized?: boolean;
}

const probeAfterMs = 60_000;

/**
 * Where all connections are read into, one after the other: with a buffer of its own a socket stops
 * reading when it is said, and not when its queue is full.
 */
const readBuffer = new Uint8Array(64 * 1024);

/** HTTP/1.1 is all that is offered. There is no time-out here: who waits for the connection has one. */
export function createConnector(options: ConnectOptions = {}): Connector {
  return ({ protocol, hostname, port }, read, done) => {
    const isTls = protocol === "https:";
    const onread: net.OnReadOpts = {
      buffer: readBuffer,
      callback: (length) => read(readBuffer.slice(0, length)),
    };
    const to = { host: hostname, port: Number(port || (isTls ? 443 : 80)), onread, ...options };
    const socket = isTls ? tls.connect({ ...to, ...secure(hostname) }) : net.connect(to);
    let isDone = false;
    const fail = (error: Error) => {
      if (!isDone) done(error, null);
      isDone = true;
    };
    socket.setNoDelay(true).setKeepAlive(true, probeAfterMs);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      isDone = true;
      done(null, socket);
    });
    // Kept for the socket's life: an error that nobody listens for ends the process.
    socket.on("error", fail);
    socket.once("close", () => fail(new ConnectionClosed()));
    return socket;
  };
}

function secure(hostname: string): tls.ConnectionOptions {
  return {
    ALPNProtocols: ["http/1.1"],
    // An address is no name to ask for.
    ...(net.isIP(hostname) === 0 ? { servername: hostname } : {}),
  };
}

/** The other side closed the connection before the answer's end. */
export class ConnectionClosed extends Error {
  readonly code = connectionClosedCode;

  constructor() {
    super("The connection was closed");
  }
}

export const connectionClosedCode = "closed";
