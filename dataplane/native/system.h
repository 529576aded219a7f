// What the main thread needs from the operating system before an engine runs: a TUN interface with
// its addresses, UDP sockets, an eventfd; and the kernel's routes. Functions return a value >= 0,
// or -errno.

#ifndef POSTERN_SYSTEM_H
#define POSTERN_SYSTEM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace postern {

struct TunFeatures {
  bool udp;  // takes joined UDP datagrams (TUN_F_USO4/6, Linux 6.2)
};

// tun.cc: makes (or takes over) the interface and returns its file descriptor, non-blocking. With
// `has_queues` each call opens one more queue of the same interface.
int open_tun(const char* name, bool virtio_header, bool has_queues, TunFeatures& features);
// tun.cc: takes a queue out of the interface, so that the others get its packets, or puts it back.
int set_queue(int fd, bool is_used);

// netlink.cc: sets the MTU and brings the interface up.
int set_link(const char* name, uint32_t mtu);
// netlink.cc: 1 where somebody has the interface up, 0 where it is down.
int is_link_up(const char* name);
// netlink.cc: adds an address; `length` is 4 or 16.
int add_address(const char* name, const uint8_t* address, size_t length, uint8_t prefix_bits);
// Adds a route to a network, or removes it; the host bits of `network` must be zero.
int change_route(const char* name, const uint8_t* network, size_t length, uint8_t prefix_bits,
                 bool is_added);
// What the kernel would do with packets to a destination.
struct Route {
  uint8_t type;  // RTN_UNICAST, RTN_LOCAL and so on
  bool has_source;
  uint8_t source[16];
  uint32_t interface_index;
};
// netlink.cc: asks for the route to a destination, by one interface where that has a name. An error
// is an answer, too: the kernel has no route, or one that refuses.
int find_route(const uint8_t* address, size_t length, const char* interface_name, Route& route);
// netlink.cc: a socket that hears what changes in this network: its links, addresses and routes, or
// with `is_netfilter` its nft tables.
int open_events(bool is_netfilter);
// netlink.cc: takes what such a socket has heard; 1 where that was something, 0 where it was not.
int take_events(int fd);

// netfilter.cc: sends a request, or the messages of a transaction, to the packet filter of the
// kernel and appends all that it answers.
int ask_netfilter(const uint8_t* request, size_t length, std::vector<uint8_t>& answers);

// udp.cc: a non-blocking socket bound to the port (0: a free one) on all addresses of one family.
// With `is_shared` others of this process may be bound to it too.
int open_udp(bool is_ipv6, uint16_t port, bool is_shared);
// udp.cc: the port that a socket is bound to.
int bound_port(int fd);
// steering.cc: leads datagrams to the sockets that share a port, of the workers 0, 1 and so on in
// the order in which they were bound. `fd` is one of them.
int steer_udp(int fd, int workers);
// steering.cc: a socket that keeps others in this network from a shared port, as an exclusive one
// would; -EADDRINUSE: another process has it.
int lock_port(uint16_t port);

}  // namespace postern

#endif
