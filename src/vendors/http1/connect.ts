import net from "node:net";
import tls from "node:tls";
import { stopBelowTls } from "../../base/tls_backpressure.ts";

/**
 * Opens a connection, TLS included, and returns its socket at once. Received bytes go to `read`.
 */
export type Connector = (target: ConnectTarget, read: ReadPiece, done: ConnectDone) => net.Socket;

/**
 * Takes received bytes, which it may keep. False: read nothing more until the socket's `resume`.
 */
export type ReadPiece = (piece: Uint8Array) => boolean;

export interface ConnectTarget {
  /** `http:` or `https:`. */
  readonly protocol: string;
  /** With the port, unless that is the protocol's default. */
  readonly host: string;
  /** An IPv6 address without brackets. */
  readonly hostname: string;
  /** Empty for the protocol's default. */
  readonly port: string;
}

/** Called once, unless the socket is destroyed before. */
type ConnectDone = (
  ...result: [error: null, socket: net.Socket] | [error: Error, socket: null]
) => void;

export interface ConnectOptions {
  /** Resolves a name to addresses; the system's resolver by default. */
  readonly lookup?: NonNullable<net.TcpNetConnectOpts["lookup"]>;
  /** Certificates that are trusted in place of the well-known ones. */
  readonly ca?: string;
  /** True: certificates are verified, whatever the environment says. */
  readonly rejectUnauthorized?: boolean;
}

const probeAfterMs = 60_000;

/**
 * All connections read into this buffer, one after the other. A socket that reads into a given
 * buffer stops as soon as it is told to, not only when its own queue is full.
 */
const readBuffer = new Uint8Array(64 * 1024);

/**
 * Builds a connector that offers HTTP/1.1 only. It has no timeout: whoever waits for the connection
 * sets one.
 */
export function createConnector(options: ConnectOptions = {}): Connector {
  return ({ protocol, hostname, port }, read, done) => {
    const isTls = protocol === "https:";
    const onread: net.OnReadOpts = {
      buffer: readBuffer,
      callback: (length) => read(readBuffer.slice(0, length)),
    };
    const to = { host: hostname, port: Number(port || (isTls ? 443 : 80)), onread, ...options };
    const socket = isTls ? connectTls({ ...to, ...secure(hostname) }) : net.connect(to);
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

function connectTls(options: tls.ConnectionOptions): tls.TLSSocket {
  const socket = tls.connect(options);
  stopBelowTls(socket);
  return socket;
}

function secure(hostname: string): tls.ConnectionOptions {
  return {
    ALPNProtocols: ["http/1.1"],
    // SNI permits names only, no IP addresses (RFC 6066 §3).
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
