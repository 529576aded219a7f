CREATE TABLE `api_tokens` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `sha256` char(64) NOT NULL,
  `expires_at` datetime(6) DEFAULT NULL,
  `last_used_at` datetime(6) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `api_tokens_sha256` (`sha256`),
  KEY `api_tokens_user_id_inserted_at` (`user_id`,`inserted_at`),
  CONSTRAINT `api_tokens_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `api_tokens` VALUES ('0190a000-0000-7000-8000-000000000031','0190a000-0000-7000-8000-000000000001','ci','abababababababababababababababababababababababababababababababab','2027-01-01 00:00:00.000000',NULL,'2026-11-21 22:29:13.187000','2026-11-21 22:29:13.187000');
CREATE TABLE `audit_entries` (
  `id` char(36) NOT NULL,
  `happened_at` datetime(6) NOT NULL,
  `actor` varchar(16) NOT NULL,
  `user_id` char(36) DEFAULT NULL,
  `email` varchar(255) DEFAULT NULL,
  `token_id` char(36) DEFAULT NULL,
  `action` varchar(32) NOT NULL,
  `kind` varchar(32) NOT NULL,
  `record_id` varchar(64) NOT NULL,
  `changes` longtext NOT NULL,
  `request_id` varchar(64) DEFAULT NULL,
  `address` varchar(45) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `audit_entries` VALUES ('01a2003a-5700-7746-a461-bfba071e17ea','2026-11-21 22:29:13.088000','gateway',NULL,NULL,NULL,'create','secret','key_check','{\"value\":{\"changed\":true}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5717-7661-859b-88114e0c0293','2026-11-21 22:29:13.111000','gateway',NULL,NULL,NULL,'create','configuration','01a2003a-570e-77c4-a11f-ec8dc5ffa0ab','{\"allow_unprivileged_device_management\":{\"to\":true},\"allow_unprivileged_device_configuration\":{\"to\":true},\"default_client_allowed_ips\":{\"to\":[\"0.0.0.0/0\",\"::/0\"]},\"default_client_dns\":{\"to\":[\"1.1.1.1\",\"1.0.0.1\"]},\"default_client_persistent_keepalive\":{\"to\":25},\"disable_vpn_on_oidc_error\":{\"to\":false},\"local_auth_enabled\":{\"to\":true},\"vpn_session_duration\":{\"to\":0},\"logo\":{\"to\":{}},\"saml_identity_providers\":{\"to\":[]},\"openid_connect_providers\":{\"to\":[]}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-572a-700a-83f3-881e12c299ad','2026-11-21 22:29:13.130000','gateway',NULL,NULL,NULL,'create','secret','wireguard_private_key','{\"value\":{\"changed\":true}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5738-75c2-927e-c2aba6e6bce6','2026-11-21 22:29:13.144000','gateway',NULL,NULL,NULL,'create','user','0190a000-0000-7000-8000-000000000001','{\"email\":{\"to\":\"Ann@example.com\"},\"role\":{\"to\":\"admin\"},\"password\":{\"changed\":true}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-573a-7750-be2b-86f5f3239f6f','2026-11-21 22:29:13.146000','gateway',NULL,NULL,NULL,'create','user','0190a000-0000-7000-8000-000000000002','{\"email\":{\"to\":\"bób@example.com\"},\"role\":{\"to\":\"unprivileged\"},\"disabled_at\":{\"to\":\"2026-02-03T04:05:06.007Z\"},\"disabled_by\":{\"to\":\"administrator\"}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-574a-7356-b7c0-d688327f1450','2026-11-21 22:29:13.162000','gateway',NULL,NULL,NULL,'create','device','0190a000-0000-7000-8000-000000000011','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"name\":{\"to\":\"Ann\'s \\\"phone\\\" 😀\"},\"description\":{\"to\":\"a\\\\b\"},\"public_key\":{\"to\":\"CwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCws=\"},\"ipv4\":{\"to\":\"100.64.0.11\"},\"ipv6\":{\"to\":\"fd00::11\"},\"use_default_allowed_ips\":{\"to\":true},\"use_default_dns\":{\"to\":true},\"use_default_endpoint\":{\"to\":true},\"use_default_mtu\":{\"to\":true},\"use_default_persistent_keepalive\":{\"to\":true},\"preshared_key\":{\"changed\":true}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5752-7704-8dce-93dce5b62120','2026-11-21 22:29:13.170000','gateway',NULL,NULL,NULL,'create','device','0190a000-0000-7000-8000-000000000012','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000002\"},\"name\":{\"to\":\"laptop\"},\"public_key\":{\"to\":\"FRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRU=\"},\"ipv4\":{\"to\":\"100.64.0.12\"},\"use_default_allowed_ips\":{\"to\":true},\"use_default_dns\":{\"to\":false},\"use_default_endpoint\":{\"to\":true},\"use_default_mtu\":{\"to\":false},\"use_default_persistent_keepalive\":{\"to\":true},\"dns\":{\"to\":[\"9.9.9.9\"]},\"mtu\":{\"to\":1300},\"preshared_key\":{\"changed\":true}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5759-7323-89f5-0ca7c33ebc1e','2026-11-21 22:29:13.177000','gateway',NULL,NULL,NULL,'create','rule','0190a000-0000-7000-8000-000000000021','{\"action\":{\"to\":\"accept\"},\"destination\":{\"to\":\"10.0.0.0/8\"},\"port_type\":{\"to\":\"tcp\"},\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"port_range\":{\"to\":\"80 - 443\"}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5762-7369-beb6-854a89251420','2026-11-21 22:29:13.186000','gateway',NULL,NULL,NULL,'create','rule','0190a000-0000-7000-8000-000000000022','{\"action\":{\"to\":\"drop\"},\"destination\":{\"to\":\"fd12::/16\"}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5767-76a5-a9c3-855ba0f95baa','2026-11-21 22:29:13.191000','gateway',NULL,NULL,NULL,'create','token','0190a000-0000-7000-8000-000000000031','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"name\":{\"to\":\"ci\"},\"expires_at\":{\"to\":\"2027-01-01T00:00:00.000Z\"}}',NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-5777-74a5-aa50-8247effa0192','2026-11-21 22:29:13.206000','gateway',NULL,NULL,NULL,'update','configuration','01a2003a-570e-77c4-a11f-ec8dc5ffa0ab','{\"default_client_dns\":{\"from\":[\"1.1.1.1\",\"1.0.0.1\"],\"to\":[\"9.9.9.9\"]},\"vpn_session_duration\":{\"from\":0,\"to\":3600},\"openid_connect_providers\":{\"from\":[],\"to\":[{\"id\":\"okta\",\"label\":\"Okta\",\"client_id\":\"client\",\"client_secret\":\"(hidden)\",\"discovery_document_uri\":\"https://id.example/\",\"scope\":\"openid email\",\"response_type\":\"code\",\"redirect_uri\":null,\"auto_create_users\":false}]},\"client_secret\":{\"changed\":true}}',NULL,NULL);
CREATE TABLE `changes` (
  `revision` bigint(20) NOT NULL,
  `table_name` varchar(32) NOT NULL,
  `row_id` varchar(64) NOT NULL,
  PRIMARY KEY (`revision`,`table_name`,`row_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `changes` VALUES (1,'secrets','key_check');
INSERT INTO `changes` VALUES (2,'configurations','01a2003a-570e-77c4-a11f-ec8dc5ffa0ab');
INSERT INTO `changes` VALUES (3,'secrets','wireguard_private_key');
INSERT INTO `changes` VALUES (4,'api_tokens','0190a000-0000-7000-8000-000000000031');
INSERT INTO `changes` VALUES (4,'configurations','01a2003a-570e-77c4-a11f-ec8dc5ffa0ab');
INSERT INTO `changes` VALUES (4,'devices','0190a000-0000-7000-8000-000000000011');
INSERT INTO `changes` VALUES (4,'devices','0190a000-0000-7000-8000-000000000012');
INSERT INTO `changes` VALUES (4,'rules','0190a000-0000-7000-8000-000000000021');
INSERT INTO `changes` VALUES (4,'rules','0190a000-0000-7000-8000-000000000022');
INSERT INTO `changes` VALUES (4,'users','0190a000-0000-7000-8000-000000000001');
INSERT INTO `changes` VALUES (4,'users','0190a000-0000-7000-8000-000000000002');
CREATE TABLE `configurations` (
  `id` char(36) NOT NULL,
  `singleton` tinyint(4) NOT NULL,
  `allow_unprivileged_device_management` tinyint(1) NOT NULL,
  `allow_unprivileged_device_configuration` tinyint(1) NOT NULL,
  `default_client_allowed_ips` longtext NOT NULL,
  `default_client_dns` longtext NOT NULL,
  `default_client_endpoint` text DEFAULT NULL,
  `default_client_mtu` int(11) DEFAULT NULL,
  `default_client_persistent_keepalive` int(11) NOT NULL,
  `disable_vpn_on_oidc_error` tinyint(1) NOT NULL,
  `local_auth_enabled` tinyint(1) NOT NULL,
  `vpn_session_duration` int(11) NOT NULL,
  `logo` longtext NOT NULL,
  `openid_connect_providers` longtext DEFAULT NULL,
  `saml_identity_providers` longtext NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `configurations_singleton` (`singleton`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `configurations` VALUES ('01a2003a-570e-77c4-a11f-ec8dc5ffa0ab',1,1,1,'[\"0.0.0.0/0\",\"::/0\"]','[\"9.9.9.9\"]',NULL,NULL,25,0,1,3600,'{}','1:5a3d9548:nDJVYF5jTlKGKIW0JPpht732gTCbCQA7XX3MpfOw0hmCda3yMUxVS19WCUmMVcAOlcTS1My9tHtvVlodNYxFcNVAk2E3QURBswSiFmJJbiSePHtnUjgrqYiHNlk02rppIXg0ZdkkA/nYJei6mTWEU07mvVTqoBBURbKqmpKEKlW4VdS+g0CdV13iCUlZ6kwREjUCntal6sVsNU2PX5+Xh/tS1vEQ35rF/H2TC5vLSvE1SnnGUXYgjSkYlUpVdJGDMZOYOskxVCuntRU2fjSkSBHQsmNM3kM3xKZ7KY79hYrUS+ahuJ4eYXVppPtWUml9ng==','[]','2026-11-21 22:29:13.103000','2026-11-21 22:29:13.197000');
CREATE TABLE `device_statuses` (
  `device_id` char(36) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `latest_handshake` datetime(6) DEFAULT NULL,
  `remote_ip` varchar(45) DEFAULT NULL,
  `remote_port` int(11) DEFAULT NULL,
  `rx_bytes` bigint(20) NOT NULL,
  `tx_bytes` bigint(20) NOT NULL,
  `updated` datetime(6) NOT NULL,
  PRIMARY KEY (`device_id`),
  CONSTRAINT `device_statuses_ibfk_1` FOREIGN KEY (`device_id`) REFERENCES `devices` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `device_statuses` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000051','2026-03-02 00:00:00.000000','192.0.2.7',4500,5000000000,7,'2026-11-21 22:29:13.226000');
CREATE TABLE `devices` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `description` varchar(2048) DEFAULT NULL,
  `public_key` char(44) NOT NULL,
  `preshared_key` text NOT NULL,
  `ipv4` varchar(15) DEFAULT NULL,
  `ipv4_key` char(8) DEFAULT NULL,
  `ipv6` varchar(45) DEFAULT NULL,
  `ipv6_key` char(32) DEFAULT NULL,
  `use_default_allowed_ips` tinyint(1) NOT NULL,
  `use_default_dns` tinyint(1) NOT NULL,
  `use_default_endpoint` tinyint(1) NOT NULL,
  `use_default_mtu` tinyint(1) NOT NULL,
  `use_default_persistent_keepalive` tinyint(1) NOT NULL,
  `allowed_ips` longtext DEFAULT NULL,
  `dns` longtext DEFAULT NULL,
  `endpoint` text DEFAULT NULL,
  `mtu` int(11) DEFAULT NULL,
  `persistent_keepalive` int(11) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `devices_user_id_name` (`user_id`,`name`),
  UNIQUE KEY `devices_public_key` (`public_key`),
  UNIQUE KEY `devices_ipv4_key` (`ipv4_key`),
  UNIQUE KEY `devices_ipv6_key` (`ipv6_key`),
  KEY `devices_inserted_at_id` (`inserted_at`,`id`),
  CONSTRAINT `devices_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000001','Ann\'s \"phone\" 😀','a\\b','CwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCws=','1:5a3d9548:kgmPUNnV4pCko9O0yXuyJxL8bBiYLbEKUpWcriTj+tj6R4ctJyNV7ysZo4Htk+Tc+J8GGeU+8TCvRpsXeAU7au/EGZScCw6Y','100.64.0.11','6440000b','fd00::11','fd000000000000000000000000000011',1,1,1,1,1,NULL,NULL,NULL,NULL,NULL,'2026-11-21 22:29:13.149000','2026-11-21 22:29:13.149000');
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000012','0190a000-0000-7000-8000-000000000002','laptop',NULL,'FRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRU=','1:5a3d9548:n7ic6xRqyirWmFwtTATiZMolHlHqE3LTGaaFVvzLgRLrnwtbrI41xtYWrH5jjcADkdt+6gpY3+muTx+nJKAW2vIAk6zQo/Rv','100.64.0.12','6440000c',NULL,NULL,1,0,1,0,1,NULL,'[\"9.9.9.9\"]',NULL,1300,NULL,'2026-11-21 22:29:13.164000','2026-11-21 22:29:13.164000');
CREATE TABLE `gateways` (
  `id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `started_at` datetime(6) NOT NULL,
  `seen_at` datetime(6) NOT NULL,
  `applied_revision` bigint(20) NOT NULL,
  `clock_floor` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `gateways` VALUES ('0190a000-0000-7000-8000-000000000051','gate','2026-03-01 00:00:00.000000','2026-03-01 00:00:00.000000',0,NULL);
CREATE TABLE `leases` (
  `name` varchar(32) NOT NULL,
  `owner` char(36) NOT NULL,
  `expires_ms` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `leases` VALUES ('migration','',0);
CREATE TABLE `migrations` (
  `name` varchar(64) NOT NULL,
  `executed_at` datetime(6) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `migrations` VALUES ('0001-first-tables','2026-11-21 22:29:13.024000');
INSERT INTO `migrations` VALUES ('0002-audit-entries','2026-11-21 22:29:13.039000');
CREATE TABLE `revisions` (
  `id` int(11) NOT NULL,
  `number` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `revisions` VALUES (1,4);
CREATE TABLE `rules` (
  `id` char(36) NOT NULL,
  `action` varchar(16) NOT NULL,
  `destination` varchar(64) NOT NULL,
  `family` tinyint(4) NOT NULL,
  `range_start` varchar(32) NOT NULL,
  `range_end` varchar(32) NOT NULL,
  `port_type` varchar(8) DEFAULT NULL,
  `port_start` int(11) DEFAULT NULL,
  `port_end` int(11) DEFAULT NULL,
  `user_id` char(36) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `rules_user_id_action_family_range_start_range_end` (`user_id`,`action`,`family`,`range_start`,`range_end`),
  KEY `rules_inserted_at_id` (`inserted_at`,`id`),
  CONSTRAINT `rules_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000021','accept','10.0.0.0/8',4,'0a000000','0affffff','tcp',80,443,'0190a000-0000-7000-8000-000000000001','2026-11-21 22:29:13.171000','2026-11-21 22:29:13.171000');
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000022','drop','fd12::/16',6,'fd120000000000000000000000000000','fd12ffffffffffffffffffffffffffff',NULL,NULL,NULL,NULL,'2026-11-21 22:29:13.179000','2026-11-21 22:29:13.179000');
CREATE TABLE `scopes` (
  `name` varchar(32) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `scopes` VALUES ('address_pool');
INSERT INTO `scopes` VALUES ('configuration');
CREATE TABLE `secrets` (
  `name` varchar(64) NOT NULL,
  `value` text NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `secrets` VALUES ('key_check','1:5a3d9548:nQz8nnmV3d3VqaxJMTYXa5SxTVJqMfolpRaXkx4Agd/7ATI=','2026-11-21 22:29:13.063000','2026-11-21 22:29:13.063000');
INSERT INTO `secrets` VALUES ('wireguard_private_key','1:5a3d9548:f+sNspqoA/iRsGbzSSRwQQNWArSLstdXQeov1+hVQGrKMjVNw/cWoypQeZGYB0ia3WUTLnFM1jmGOHpbWXgoIObLfi1FlEMp','2026-11-21 22:29:13.128000','2026-11-21 22:29:13.128000');
CREATE TABLE `users` (
  `id` char(36) NOT NULL,
  `email` varchar(255) NOT NULL,
  `email_key` varchar(768) NOT NULL,
  `role` varchar(16) NOT NULL,
  `password_hash` varchar(255) DEFAULT NULL,
  `disabled_at` datetime(6) DEFAULT NULL,
  `disabled_by` varchar(16) DEFAULT NULL,
  `last_signed_in_at` datetime(6) DEFAULT NULL,
  `last_signed_in_method` varchar(64) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `users_email_key` (`email_key`),
  KEY `users_inserted_at_id` (`inserted_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000001','Ann@example.com','ann@example.com','admin','$2b$04$abcdefghijklmnopqrstuuJrjFUcHlS1nMZFxIBTXcOjVEO7LQn0i',NULL,NULL,'2026-01-02 03:04:05.678000','email','2026-11-21 22:29:13.140000','2026-11-21 22:29:13.140000');
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000002','bób@example.com','bób@example.com','unprivileged',NULL,'2026-02-03 04:05:06.007000','administrator',NULL,NULL,'2026-11-21 22:29:13.144000','2026-11-21 22:29:13.144000');
