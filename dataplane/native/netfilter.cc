// Reads named counters of nftables over netlink. The program nft could read them too, but to start
// a program the kernel copies the page tables of this process, and packets wait meanwhile.

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "system.h"

namespace postern {

namespace {

constexpr size_t REQUEST_BYTES = 1024;

// A request about one object; its attributes are added one by one.
struct ObjectRequest {
  nlmsghdr header;
  nfgenmsg family;
  uint8_t attributes[REQUEST_BYTES];

  ObjectRequest() {
    memset(this, 0, sizeof *this);
    header.nlmsg_len = NLMSG_LENGTH(sizeof family);
    header.nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETOBJ;
    header.nlmsg_flags = NLM_F_REQUEST;
    family.nfgen_family = NFPROTO_INET;
  }

  // Adds an attribute with `zeros` bytes of zero behind its value.
  void add(uint16_t type, const void* value, size_t length, size_t zeros = 0) {
    const size_t at = NLMSG_ALIGN(header.nlmsg_len);
    uint8_t* place = reinterpret_cast<uint8_t*>(this) + at;
    const nlattr attribute = {static_cast<uint16_t>(NLA_HDRLEN + length + zeros), type};
    memcpy(place, &attribute, sizeof attribute);
    memcpy(place + NLA_HDRLEN, value, length);
    header.nlmsg_len = static_cast<uint32_t>(at + NLA_ALIGN(attribute.nla_len));
  }
};

struct Attribute {
  const uint8_t* value = nullptr;
  size_t length = 0;
};

// The attribute of a type among `length` bytes of attributes; without a value where there is none.
Attribute find(Attribute all, int type) {
  size_t at = 0;
  while (at + NLA_HDRLEN <= all.length) {
    nlattr attribute;
    memcpy(&attribute, all.value + at, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > all.length - at) break;
    if ((attribute.nla_type & NLA_TYPE_MASK) == type)
      return {all.value + at + NLA_HDRLEN, static_cast<size_t>(attribute.nla_len - NLA_HDRLEN)};
    at += NLA_ALIGN(attribute.nla_len);
  }
  return {};
}

// What the kernel answers: the packets of a counter, or -errno.
int64_t packets_in(const uint8_t* answer, size_t length) {
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (!NLMSG_OK(header, length)) return -EPROTO;
  if (header->nlmsg_type == NLMSG_ERROR && header->nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr)))
    return static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  const size_t start = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(nfgenmsg)));
  if (header->nlmsg_len < start) return -EPROTO;
  const Attribute data = find({answer + start, header->nlmsg_len - start}, NFTA_OBJ_DATA);
  const Attribute packets = find(data, NFTA_COUNTER_PACKETS);
  uint64_t value;
  if (packets.length != sizeof value) return -EPROTO;
  memcpy(&value, packets.value, sizeof value);
  return static_cast<int64_t>(be64toh(value));
}

}  // namespace

int64_t read_counter(const uint8_t* table, size_t table_length, const uint8_t* name,
                     size_t name_length) {
  if (table_length >= NFT_NAME_MAXLEN || name_length >= NFT_NAME_MAXLEN) return -ENAMETOOLONG;
  ObjectRequest request;
  const uint32_t type = htonl(NFT_OBJECT_COUNTER);
  request.add(NFTA_OBJ_TABLE, table, table_length, 1);
  request.add(NFTA_OBJ_NAME, name, name_length, 1);
  request.add(NFTA_OBJ_TYPE, &type, sizeof type);
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  if (fd < 0) return -errno;
  alignas(nlmsghdr) uint8_t answer[4096];
  // The kernel has answered when `send` returns, so nothing waits here.
  ssize_t got = send(fd, &request, request.header.nlmsg_len, 0);
  if (got >= 0) got = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
  const int64_t result = got < 0 ? -errno : packets_in(answer, static_cast<size_t>(got));
  close(fd);
  return result;
}

}  // namespace postern
