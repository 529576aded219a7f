// The sockets by which packets of devices leave where there is no TUN: TCP connections, UDP flows
// and pings to the host's network, many at once. The addon has them, or a twin on node:net and
// node:dgram (dataplane/io); both obey this contract. Nothing here allocates for each call.

/** As many sockets as one worker may have; a handle has room for no more. */
export const HOST_SOCKETS_MAX = 65_536;
/** As many arenas as there may be. */
export const SOCKET_ARENAS_MAX = 16;
/** As many pieces as one call may move. */
export const SOCKET_PIECES_MAX = 64;

/** Directions of a room: what came from a host, and what goes to it. */
export const ROOM_RECEIVE = 0;
export const ROOM_SEND = 1;
/** The largest room. */
export const ROOM_MAX = 16_777_216;

/** Words of a piece: bytes of an arena that one call reads or writes. */
export const PIECE_WORDS = 5;
/** Index in `arenas`. */
export const PIECE_ARENA = 0;
export const PIECE_OFFSET = 1;
/** Room, or bytes; `receive` sets it to the bytes that came. */
export const PIECE_LENGTH = 2;
/** The piece is a run of datagrams of so many bytes, the last may be shorter; 0: one datagram. */
export const PIECE_SEGMENT = 3;
/**
 * What became of a datagram: 0 or errno; EMSGSIZE of a received one: it was longer, and is cut.
 * `verify` writes 0 or EBADMSG.
 */
export const PIECE_ERROR = 4;

/** Words of an event. */
export const SOCKET_EVENT_WORDS = 3;
export const SOCKET_EVENT_HANDLE = 0;
/** Bits of SOCKET_. */
export const SOCKET_EVENT_FLAGS = 1;
/** With SOCKET_FAILED of a TCP connection: errno. */
export const SOCKET_EVENT_ERROR = 2;
/** There may be bytes to read. */
export const SOCKET_READABLE = 1;
/** A TCP connection takes bytes again. */
export const SOCKET_WRITABLE = 2;
/** The host has answered the TCP connection. */
export const SOCKET_CONNECTED = 4;
/** The host sends nothing more: its bytes can be read up to the end. */
export const SOCKET_ENDED = 8;
/** A TCP connection has failed for good; UDP and echo: `takeError` has something. */
export const SOCKET_FAILED = 16;
/**
 * Of a pair, with ENDED: its other end is closed, or both have ended. What is left can be read, and
 * nothing can be written.
 */
export const SOCKET_GONE = 32;

/** Words of an error of a UDP or echo socket, and of what is counted. */
export const SOCKET_ERROR_WORDS = 6;
/** Errno. */
export const SOCKET_ERROR = 0;
/** Who reported it: ORIGIN_. */
export const SOCKET_ERROR_ORIGIN = 1;
/** Type and code of the ICMP message. */
export const SOCKET_ERROR_TYPE = 2;
export const SOCKET_ERROR_CODE = 3;
/** With EMSGSIZE: how large a packet may be; else, and where it is not known, 0. */
export const SOCKET_ERROR_MTU = 4;
/** In the same memory, after `openPair`: the descriptor of the other end. */
export const PAIR_END = 0;
/**
 * In the same memory: how many datagrams the UDP and echo sockets have lost since the beginning,
 * because one had no room when they came. It grows when a later datagram is received, or when the
 * socket is closed, and begins at 0 again after 32 bits. A run that was lost at once is one.
 */
export const SOCKET_LOST = 5;
/** This host. */
export const ORIGIN_LOCAL = 1;
export const ORIGIN_ICMP = 2;
export const ORIGIN_ICMP6 = 3;

/** What becomes of packets to a destination, as the kernel of the host says. */
export type DestinationKind =
  | 'unicast'
  /** An address of the host itself. */
  | 'local'
  | 'broadcast'
  | 'multicast'
  /** There is no route, or one that says so. */
  | 'unreachable'
  | 'prohibit'
  /** A route that drops everything in silence. */
  | 'blackhole'
  /** The kernel could not be asked. */
  | 'unknown';

/** Where packets to a destination would go. */
export interface HostRoute {
  readonly kind: DestinationKind;
  /** The address from which they would be sent, 4 or 16 bytes; null where it is not known. */
  readonly source: Uint8Array | null;
}

/** What the sockets of a worker are made from. */
export interface HostSocketsOptions {
  /** How many may be open at once; further ones are refused with EMFILE. */
  readonly capacity: number;
  /** The one interface that they use; null: as the routes say. */
  readonly interfaceName: string | null;
  /** The memory that pieces may be in. It stays where it is, so it must not be transferred. */
  readonly arenas: readonly Uint8Array[];
  /** Events that one call takes at most. */
  readonly eventsMax: number;
}

/** What sockets a worker may have for what devices send beyond the tunnel. */
export interface SocketsWanted extends Pick<HostSocketsOptions, 'capacity' | 'interfaceName'> {
  /**
   * How many of them may be of UDP: each has a port of the host that no other one has. Left out:
   * all of them.
   */
  readonly ports?: number;
  /** True: they are for connections to the gateway's own address alone. Left out: false. */
  readonly isForDoors?: boolean;
}

/**
 * The sockets of one worker. A handle is a positive whole number of 31 bits; its low 16 bits are a
 * place, which a later socket may have again, and which can index a table. A call with the handle
 * of a socket that is closed returns -EBADF and touches nothing.
 *
 * Events come once for each change, not as long as it lasts (edge-triggered). Who got READABLE may
 * read until fewer bytes come than there was room for, and after ENDED until 0 comes; who got
 * -EAGAIN, or whose write took fewer bytes than it was given, waits for the next event.
 *
 * Refusals are facts about a host: they are returned as -errno. What is wrong with a call, as an
 * address of 5 bytes or a piece outside of its arena, throws or returns -EFAULT.
 */
export interface HostSockets {
  /**
   * Becomes readable when there are events; an engine waits for it beside its own descriptors
   * (`sockets` of NativeEngineOptions). -1 for the twin, which calls `onEvents`.
   */
  readonly descriptor: number;
  /** PIECE_WORDS numbers for each of SOCKET_PIECES_MAX pieces; each call begins with the first. */
  readonly pieces: Int32Array;
  /** SOCKET_EVENT_WORDS numbers for each event. */
  readonly events: Int32Array;
  /** What `takeError` found, or `openPair` opened; and SOCKET_LOST. */
  readonly error: Int32Array;
  /** How many sockets are open. */
  readonly count: number;

  /**
   * Begins a TCP connection to an address of 4 or 16 bytes. Returns its handle, or -errno where it
   * fails at once; else an event with CONNECTED or FAILED follows. `room`: the memory that the
   * kernel may keep of it in each direction; 0, or left out: as the kernel sees fit.
   */
  connectTcp(address: Uint8Array, port: number, room?: number): number;
  /** Opens a UDP socket that only this address and port can answer; its handle, or -errno. */
  connectUdp(address: Uint8Array, port: number, room?: number): number;
  /**
   * Opens a connection within this process, which is open at once and is then as one of TCP. `room`
   * bytes may wait in each direction. Returns the handle of one end, or -errno: -EOPNOTSUPP for the
   * twin. The other end is a descriptor (PAIR_END of `error`), which is the caller's to close.
   */
  openPair(room: number): number;
  /**
   * Opens a ping socket that only this address can answer. Its datagrams are ICMP messages: echo
   * requests go out, echo replies come in, both with an identifier that the kernel chooses. Returns
   * its handle, or -errno: -EACCES where the kernel does not allow it (net.ipv4.ping_group_range).
   */
  openEcho(address: Uint8Array): number;
  /** Fills `events`; returns how many there are. */
  takeEvents(): number;

  /**
   * Reads from a TCP connection into the first `count` pieces. Returns the bytes, 0 at the end,
   * -EAGAIN where nothing is there yet, or -errno of a connection that has failed; what came before
   * the failure is read first.
   */
  read(handle: number, count: number): number;
  /** Writes the first `count` pieces to a TCP connection. Returns how many bytes it took. */
  write(handle: number, count: number): number;
  /** Ends the half of a TCP connection that writes: the host reads to the end. */
  end(handle: number): number;

  /**
   * Says how much memory the kernel may keep of a TCP connection in a direction (ROOM_). Returns
   * how much it keeps at most now: less than that where the kernel makes it larger by itself, more
   * where it has done so; the next call finds that stopped. -EBUSY: there is something, so it
   * cannot be less than before.
   */
  setRoom(handle: number, direction: number, bytes: number): number;

  /**
   * Receives datagrams of a UDP or echo socket into the first `count` pieces; a run may need 65,535
   * bytes. Returns how many pieces were filled, or -EAGAIN. The pieces may have changed places.
   */
  receive(handle: number, count: number): number;
  /**
   * Sends the first `count` pieces by a UDP or echo socket, each a datagram or a run; datagrams of
   * one size that follow each other may leave as a run. Returns how many were sent; PIECE_ERROR of
   * the others says why. EAGAIN: the socket had no room, and the datagram is lost.
   */
  send(handle: number, count: number): number;
  /**
   * Sends the first piece, a datagram, by a UDP or echo socket in as many IP fragments as the way
   * to the host needs: without DF, or by IPv6 fragments. Returns 1, or 0 where `send` would.
   */
  sendFragmented(handle: number): number;
  /** Fills `error` with the oldest error of a UDP or echo socket; 1, or 0 where there is none. */
  takeError(handle: number): number;
  /** The MTU of the path to the other end as far as it is known, or -errno. */
  pathMtu(handle: number): number;

  /**
   * Looks at the first `count` pieces, each an IP packet. PIECE_ERROR is 0 where it is whole, has
   * no options or extension headers, and a checksum of TCP or UDP that is right; otherwise EBADMSG,
   * and the caller looks itself.
   */
  verify(count: number): void;

  /** Closes a socket. The host still gets what a TCP connection has taken, and then its end. */
  closeSocket(handle: number): number;
  /** Closes a socket. A TCP connection ends with RST, and the host gets nothing more. */
  resetSocket(handle: number): number;

  /** Asks where packets to an address of 4 or 16 bytes would go. */
  routeTo(address: Uint8Array): HostRoute;

  /** Closes all sockets, TCP connections with RST, and releases the memory. */
  close(): void;
}
