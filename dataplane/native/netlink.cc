// What makes a TUN usable: MTU, addresses, up, routes to networks behind peers, over rtnetlink; and
// whether it is up. Also what the kernel tells of changes by itself, and where it would send
// something.

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "system.h"

namespace postern {

namespace {

// One request: a netlink header, a body, attributes.
template <typename Body>
struct Request {
  nlmsghdr header;
  Body body;
  uint8_t attributes[128];

  Request(uint16_t type, uint16_t flags) {
    memset(this, 0, sizeof *this);
    header.nlmsg_len = NLMSG_LENGTH(sizeof(Body));
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  }

  void add(uint16_t type, const void* value, size_t length) {
    auto* attribute =
        reinterpret_cast<rtattr*>(reinterpret_cast<uint8_t*>(this) + NLMSG_ALIGN(header.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = static_cast<uint16_t>(RTA_LENGTH(length));
    memcpy(RTA_DATA(attribute), value, length);
    header.nlmsg_len = static_cast<uint32_t>(NLMSG_ALIGN(header.nlmsg_len) +
                                             RTA_ALIGN(attribute->rta_len));
  }
};

// Which changes are heard. Routes vanish silently where a link is set down, and the link tells.
constexpr unsigned ROUTE_GROUPS[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                     RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
constexpr unsigned NETFILTER_GROUPS[] = {NFNLGRP_NFTABLES};
// Nobody reads what is heard, only that something was: ENOBUFS says that it found no room.
constexpr int EVENTS_BYTES = 4096;
constexpr int EVENTS_TAKEN_MAX = 64;

// Joins groups of a netlink socket; returns 0 or -errno.
template <size_t count>
int join(int fd, const unsigned (&groups)[count]) {
  for (const unsigned group : groups)
    if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) < 0)
      return -errno;
  return 0;
}

constexpr size_t ANSWER_BYTES = 4096;

// Sends a request and takes the first message of the kernel's answer; returns 0 or -errno.
int ask(const nlmsghdr* request, uint8_t (&answer)[ANSWER_BYTES]) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -errno;
  int result = 0;
  if (send(fd, request, request->nlmsg_len, 0) < 0) {
    result = -errno;
  } else {
    const ssize_t got = recv(fd, answer, sizeof answer, 0);
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
    if (got < 0) result = -errno;
    else if (!NLMSG_OK(header, static_cast<size_t>(got))) result = -EPROTO;
    else if (header->nlmsg_type == NLMSG_ERROR)
      result = static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  }
  close(fd);
  return result;
}

// Sends a request and returns what the kernel answers: 0 or -errno.
int transact(const nlmsghdr* request) {
  alignas(nlmsghdr) uint8_t answer[ANSWER_BYTES];
  const int result = ask(request, answer);
  const bool is_answered = reinterpret_cast<nlmsghdr*>(answer)->nlmsg_type == NLMSG_ERROR;
  return result == 0 && !is_answered ? -EPROTO : result;
}

// The kernel's word on one destination; `oif` is 0, or the only interface to look at.
int look_up(const uint8_t* address, size_t length, uint32_t oif, Route& route) {
  Request<rtmsg> request(RTM_GETROUTE, 0);
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.rtm_family = length == 16 ? AF_INET6 : AF_INET;
  request.body.rtm_dst_len = static_cast<uint8_t>(length * 8);
  request.add(RTA_DST, address, length);
  if (oif != 0) request.add(RTA_OIF, &oif, sizeof oif);
  alignas(nlmsghdr) uint8_t answer[ANSWER_BYTES];
  const int result = ask(&request.header, answer);
  if (result < 0) return result;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (header->nlmsg_type != RTM_NEWROUTE || header->nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg)))
    return -EPROTO;
  const auto* body = static_cast<const rtmsg*>(NLMSG_DATA(header));
  route = {};
  route.type = body->rtm_type;
  auto left = static_cast<int>(header->nlmsg_len - NLMSG_LENGTH(sizeof(rtmsg)));
  for (const rtattr* a = RTM_RTA(body); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == RTA_PREFSRC && RTA_PAYLOAD(a) == length) {
      memcpy(route.source, RTA_DATA(a), length);
      route.has_source = true;
    }
    if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == sizeof route.interface_index)
      memcpy(&route.interface_index, RTA_DATA(a), sizeof route.interface_index);
  }
  return 0;
}

}  // namespace

int set_link(const char* name, uint32_t mtu) {
  const unsigned index = if_nametoindex(name);
  if (index == 0) return -errno;
  Request<ifinfomsg> request(RTM_NEWLINK, 0);
  request.body.ifi_index = static_cast<int>(index);
  request.body.ifi_flags = IFF_UP;
  request.body.ifi_change = IFF_UP;
  request.add(IFLA_MTU, &mtu, sizeof mtu);
  return transact(&request.header);
}

int is_link_up(const char* name) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  ifreq request = {};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  const int result = ioctl(fd, SIOCGIFFLAGS, &request) < 0 ? -errno : 0;
  close(fd);
  return result < 0 ? result : (request.ifr_flags & IFF_UP) != 0;
}

int add_address(const char* name, const uint8_t* address, size_t length, uint8_t prefix_bits) {
  const unsigned index = if_nametoindex(name);
  if (index == 0) return -errno;
  Request<ifaddrmsg> request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
  request.body.ifa_family = length == 16 ? AF_INET6 : AF_INET;
  request.body.ifa_prefixlen = prefix_bits;
  request.body.ifa_index = index;
  // The link is point to point, so nobody else can have the address: duplicate detection is off.
  if (length == 16) request.body.ifa_flags = IFA_F_NODAD;
  request.add(IFA_LOCAL, address, length);
  request.add(IFA_ADDRESS, address, length);
  return transact(&request.header);
}

int change_route(const char* name, const uint8_t* network, size_t length, uint8_t prefix_bits,
                 bool is_added) {
  const unsigned index = if_nametoindex(name);
  if (index == 0) return -errno;
  // EXCL: a route that somebody else made stays.
  Request<rtmsg> request(is_added ? RTM_NEWROUTE : RTM_DELROUTE,
                         is_added ? NLM_F_CREATE | NLM_F_EXCL : 0);
  request.body.rtm_family = length == 16 ? AF_INET6 : AF_INET;
  request.body.rtm_dst_len = prefix_bits;
  request.body.rtm_table = RT_TABLE_MAIN;
  request.body.rtm_protocol = RTPROT_STATIC;
  request.body.rtm_scope = length == 16 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
  request.body.rtm_type = RTN_UNICAST;
  request.add(RTA_DST, network, length);
  request.add(RTA_OIF, &index, sizeof index);
  return transact(&request.header);
}

int find_route(const uint8_t* address, size_t length, const char* interface_name, Route& route) {
  // An own address that another interface has counts, too, so the first question names none.
  const int found = look_up(address, length, 0, route);
  const bool is_own = found == 0 && route.type != RTN_UNICAST;
  if (interface_name[0] == 0 || is_own) return found;
  const unsigned index = if_nametoindex(interface_name);
  return index == 0 ? -errno : look_up(address, length, index, route);
}

int open_events(bool is_netfilter) {
  const int protocol = is_netfilter ? NETLINK_NETFILTER : NETLINK_ROUTE;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (fd < 0) return -errno;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &EVENTS_BYTES, sizeof EVENTS_BYTES);
  // A socket without a number counts as the kernel itself, which hears nothing.
  sockaddr_nl name = {};
  name.nl_family = AF_NETLINK;
  int joined = bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) < 0 ? -errno : 0;
  if (joined == 0) joined = is_netfilter ? join(fd, NETFILTER_GROUPS) : join(fd, ROUTE_GROUPS);
  if (joined == 0) return fd;
  close(fd);
  return joined;
}

int take_events(int fd) {
  bool has_heard = false;
  uint8_t cut[16];
  for (int taken = 0; taken < EVENTS_TAKEN_MAX; taken++) {
    if (recv(fd, cut, sizeof cut, MSG_DONTWAIT) < 0) {
      if (errno == EAGAIN) return has_heard;
      if (errno != ENOBUFS && errno != EINTR) return -errno;
    }
    has_heard = true;
  }
  return true;
}

}  // namespace postern
