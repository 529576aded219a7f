{
  "targets": [
    {
      "target_name": "postern",
      "sources": [
        "module.cc",
        "aead.cc",
        "bind_engine.cc",
        "bind_primitives.cc",
        "bind_system.cc",
        "checksum.cc",
        "coalesce.cc",
        "keys.cc",
        "netfilter.cc",
        "netlink.cc",
        "poll.cc",
        "primitives.cc",
        "receive.cc",
        "ring.cc",
        "seal.cc",
        "send.cc",
        "steering.cc",
        "tun.cc",
        "udp.cc",
        "write_tun.cc"
      ],
      "defines": ["NAPI_VERSION=8"],
      "cflags": ["-O3", "-Wall", "-Wextra", "-Wno-cast-function-type", "-fvisibility=hidden"],
      "cflags_cc": ["-std=c++17"]
    }
  ]
}
