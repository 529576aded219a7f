CREATE TABLE `api_tokens` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `sha256` char(64) NOT NULL,
  `expires_at` datetime(6) DEFAULT NULL,
  `last_used_at` datetime(6) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `scopes` varchar(64) NOT NULL DEFAULT 'admin',
  PRIMARY KEY (`id`),
  UNIQUE KEY `api_tokens_sha256` (`sha256`),
  KEY `api_tokens_user_id_inserted_at` (`user_id`,`inserted_at`),
  CONSTRAINT `api_tokens_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `api_tokens` VALUES ('0190a000-0000-7000-8000-000000000031','0190a000-0000-7000-8000-000000000001','ci','abababababababababababababababababababababababababababababababab','2027-01-01 00:00:00.000000',NULL,'2026-11-21 22:29:26.672000','2026-11-21 22:29:26.672000','admin');
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
  `email_lower` varchar(255) GENERATED ALWAYS AS (lcase(`email`)) VIRTUAL,
  `record_name` varchar(255) DEFAULT NULL,
  `owner_name` varchar(255) DEFAULT NULL,
  `token_name` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `audit_entries_email_lower_id` (`email_lower`,`id`),
  KEY `audit_entries_record_id_id` (`record_id`,`id`),
  KEY `audit_entries_actor_id` (`actor`,`id`),
  KEY `audit_entries_kind_action_id` (`kind`,`action`,`id`),
  KEY `audit_entries_kind_id` (`kind`,`id`),
  KEY `audit_entries_action_id` (`action`,`id`),
  KEY `audit_entries_email_lower_kind_id` (`email_lower`,`kind`,`id`),
  KEY `audit_entries_actor_kind_id` (`actor`,`kind`,`id`),
  KEY `audit_entries_email_lower_action_id` (`email_lower`,`action`,`id`),
  KEY `audit_entries_actor_action_id` (`actor`,`action`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `audit_entries` VALUES ('01a2003a-8bd1-7470-84c8-3169d5f29cc1','2026-11-21 22:29:26.609000','gateway',NULL,NULL,NULL,'create','secret','key_check','{\"value\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8bdc-7117-a629-205037f99999','2026-11-21 22:29:26.620000','gateway',NULL,NULL,NULL,'create','configuration','01a2003a-8bd8-7785-bd8e-e6fca08c4d42','{\"allow_unprivileged_device_management\":{\"to\":true},\"allow_unprivileged_device_configuration\":{\"to\":true},\"default_client_allowed_ips\":{\"to\":[\"0.0.0.0/0\",\"::/0\"]},\"default_client_dns\":{\"to\":[\"1.1.1.1\",\"1.0.0.1\"]},\"default_client_persistent_keepalive\":{\"to\":25},\"disable_vpn_on_oidc_error\":{\"to\":false},\"local_auth_enabled\":{\"to\":true},\"vpn_session_duration\":{\"to\":0},\"logo\":{\"to\":{}},\"saml_identity_providers\":{\"to\":[]},\"openid_connect_providers\":{\"to\":[]}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8be5-70a2-9daa-9e782c264ed9','2026-11-21 22:29:26.629000','gateway',NULL,NULL,NULL,'create','secret','wireguard_private_key','{\"value\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8bf3-7449-88cc-e1acc2a6a85d','2026-11-21 22:29:26.643000','gateway',NULL,NULL,NULL,'create','user','0190a000-0000-7000-8000-000000000001','{\"email\":{\"to\":\"Ann@example.com\"},\"role\":{\"to\":\"admin\"},\"password\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8bf7-7667-ac39-7e2d9dab14bb','2026-11-21 22:29:26.647000','gateway',NULL,NULL,NULL,'create','user','0190a000-0000-7000-8000-000000000002','{\"email\":{\"to\":\"bób@example.com\"},\"role\":{\"to\":\"unprivileged\"},\"disabled_at\":{\"to\":\"2026-02-03T04:05:06.007Z\"},\"disabled_by\":{\"to\":\"administrator\"}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c02-71ef-93f5-d289f32bca7d','2026-11-21 22:29:26.658000','gateway',NULL,NULL,NULL,'create','device','0190a000-0000-7000-8000-000000000011','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"name\":{\"to\":\"Ann\'s \\\"phone\\\" 😀\"},\"description\":{\"to\":\"a\\\\b\"},\"public_key\":{\"to\":\"CwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCws=\"},\"ipv4\":{\"to\":\"100.64.0.11\"},\"ipv6\":{\"to\":\"fd00::11\"},\"use_default_allowed_ips\":{\"to\":true},\"use_default_dns\":{\"to\":true},\"use_default_endpoint\":{\"to\":true},\"use_default_mtu\":{\"to\":true},\"use_default_persistent_keepalive\":{\"to\":true},\"preshared_key\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c05-7009-b233-c658ac138fe0','2026-11-21 22:29:26.661000','gateway',NULL,NULL,NULL,'create','device','0190a000-0000-7000-8000-000000000012','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000002\"},\"name\":{\"to\":\"laptop\"},\"public_key\":{\"to\":\"FRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRU=\"},\"ipv4\":{\"to\":\"100.64.0.12\"},\"use_default_allowed_ips\":{\"to\":true},\"use_default_dns\":{\"to\":false},\"use_default_endpoint\":{\"to\":true},\"use_default_mtu\":{\"to\":false},\"use_default_persistent_keepalive\":{\"to\":true},\"dns\":{\"to\":[\"9.9.9.9\"]},\"mtu\":{\"to\":1300},\"preshared_key\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c0a-7304-8b42-809c7d266921','2026-11-21 22:29:26.666000','gateway',NULL,NULL,NULL,'create','rule','0190a000-0000-7000-8000-000000000021','{\"action\":{\"to\":\"accept\"},\"destination\":{\"to\":\"10.0.0.0/8\"},\"port_type\":{\"to\":\"tcp\"},\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"port_range\":{\"to\":\"80 - 443\"}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c0e-7552-86c5-5a8327508335','2026-11-21 22:29:26.670000','gateway',NULL,NULL,NULL,'create','rule','0190a000-0000-7000-8000-000000000022','{\"action\":{\"to\":\"drop\"},\"destination\":{\"to\":\"fd12::/16\"}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c12-7262-bd69-b20cd8c34959','2026-11-21 22:29:26.674000','gateway',NULL,NULL,NULL,'create','token','0190a000-0000-7000-8000-000000000031','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"name\":{\"to\":\"ci\"},\"expires_at\":{\"to\":\"2027-01-01T00:00:00.000Z\"}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c19-734e-a024-9694f7aca6ac','2026-11-21 22:29:26.681000','gateway',NULL,NULL,NULL,'update','configuration','01a2003a-8bd8-7785-bd8e-e6fca08c4d42','{\"default_client_dns\":{\"from\":[\"1.1.1.1\",\"1.0.0.1\"],\"to\":[\"9.9.9.9\"]},\"vpn_session_duration\":{\"from\":0,\"to\":3600},\"openid_connect_providers\":{\"from\":[],\"to\":[{\"id\":\"okta\",\"label\":\"Okta\",\"client_id\":\"client\",\"client_secret\":\"(hidden)\",\"discovery_document_uri\":\"https://id.example/\",\"scope\":\"openid email\",\"response_type\":\"code\",\"redirect_uri\":null,\"auto_create_users\":false}]},\"client_secret\":{\"changed\":true}}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `audit_entries` VALUES ('01a2003a-8c1b-75dc-8402-231589a52964','2026-11-21 22:29:26.683000','gateway',NULL,NULL,NULL,'create','identity','0190a000-0000-7000-8000-000000000041','{\"user_id\":{\"to\":\"0190a000-0000-7000-8000-000000000001\"},\"kind\":{\"to\":\"oidc\"},\"provider_id\":{\"to\":\"okta\"},\"issuer\":{\"to\":\"https://id.example\"},\"subject\":{\"to\":\"ann\"}}',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE `changes` (
  `revision` bigint(20) NOT NULL,
  `table_name` varchar(32) NOT NULL,
  `row_id` varchar(64) NOT NULL,
  PRIMARY KEY (`revision`,`table_name`,`row_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `changes` VALUES (1,'secrets','key_check');
INSERT INTO `changes` VALUES (2,'configurations','01a2003a-8bd8-7785-bd8e-e6fca08c4d42');
INSERT INTO `changes` VALUES (3,'secrets','wireguard_private_key');
INSERT INTO `changes` VALUES (4,'api_tokens','0190a000-0000-7000-8000-000000000031');
INSERT INTO `changes` VALUES (4,'configurations','01a2003a-8bd8-7785-bd8e-e6fca08c4d42');
INSERT INTO `changes` VALUES (4,'devices','0190a000-0000-7000-8000-000000000011');
INSERT INTO `changes` VALUES (4,'devices','0190a000-0000-7000-8000-000000000012');
INSERT INTO `changes` VALUES (4,'identities','0190a000-0000-7000-8000-000000000041');
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
  `default_action` varchar(16) NOT NULL DEFAULT 'accept',
  `default_client_include_routes` tinyint(1) NOT NULL DEFAULT 0,
  `default_limit_down` bigint(20) DEFAULT NULL,
  `default_limit_up` bigint(20) DEFAULT NULL,
  `default_quota` bigint(20) DEFAULT NULL,
  `auto_sockets` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  UNIQUE KEY `configurations_singleton` (`singleton`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `configurations` VALUES ('01a2003a-8bd8-7785-bd8e-e6fca08c4d42',1,1,1,'[\"0.0.0.0/0\",\"::/0\"]','[\"9.9.9.9\"]',NULL,NULL,25,0,1,3600,'{}','1:5a3d9548:cxnUErMcrILPJQKaodgW/ktPeVTj6NtgJpvt9fGEVstSc2NmKC6eDcz8g7+Pa0wlUqZF8Ed44rv6tVjBAebikkBPUTOR81m1IFa6yuodDfolgEdjguMyWv2qIBeDUaGPBEbAZz3LRSMOqCEh3quTZpTE67+VhIZ182DVj+i1h1wDFM7aHy7w1fnQktRy8utyxaSkjTH3qwLcX7fNnSqBvjXqu4cI3pKzJ0BPhkk7ZaVTx+QAaTU+LoyMNplZcNFuPBiugVpc8fAP/EYRS6bPf6D39uqBAT01ENsFhn313mr9oR9DcjEhIhEEBtJPnbNGSg==','[]','2026-11-21 22:29:26.616000','2026-11-21 22:29:26.677000','accept',0,NULL,NULL,NULL,0);
CREATE TABLE `connections` (
  `id` char(36) NOT NULL,
  `device_id` char(36) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `connected_at` bigint(20) NOT NULL,
  `disconnected_at` bigint(20) DEFAULT NULL,
  `remote_ip` varchar(45) DEFAULT NULL,
  `remote_port` int(11) DEFAULT NULL,
  `reason` varchar(16) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `connections_device_id_connected_at` (`device_id`,`connected_at`),
  KEY `connections_gateway_id_disconnected_at` (`gateway_id`,`disconnected_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `device_statuses` (
  `device_id` char(36) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `latest_handshake` datetime(6) DEFAULT NULL,
  `remote_ip` varchar(45) DEFAULT NULL,
  `remote_port` int(11) DEFAULT NULL,
  `rx_bytes` bigint(20) NOT NULL,
  `tx_bytes` bigint(20) NOT NULL,
  `updated` datetime(6) NOT NULL,
  `arrived_at` datetime(6) DEFAULT NULL,
  `own_ip` varchar(45) DEFAULT NULL,
  PRIMARY KEY (`device_id`),
  KEY `device_statuses_gateway_id_arrived_at` (`gateway_id`,`arrived_at`),
  CONSTRAINT `device_statuses_ibfk_1` FOREIGN KEY (`device_id`) REFERENCES `devices` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `device_statuses` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000051','2026-03-02 00:00:00.000000','192.0.2.7',4500,5000000000,7,'2026-11-21 22:29:26.689000','2026-03-02 00:00:00.000000',NULL);
CREATE TABLE `device_traffic` (
  `device_id` char(36) NOT NULL,
  `step` int(11) NOT NULL,
  `start` bigint(20) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `rx_bytes` bigint(20) NOT NULL,
  `tx_bytes` bigint(20) NOT NULL,
  PRIMARY KEY (`device_id`,`step`,`start`,`gateway_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
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
  `client_file_sha256` char(64) DEFAULT NULL,
  `disabled_at` datetime(6) DEFAULT NULL,
  `expires_at` datetime(6) DEFAULT NULL,
  `routes` text DEFAULT NULL,
  `limit_down` bigint(20) DEFAULT NULL,
  `limit_up` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `devices_user_id_name` (`user_id`,`name`),
  UNIQUE KEY `devices_public_key` (`public_key`),
  UNIQUE KEY `devices_ipv4_key` (`ipv4_key`),
  UNIQUE KEY `devices_ipv6_key` (`ipv6_key`),
  KEY `devices_inserted_at_id` (`inserted_at`,`id`),
  CONSTRAINT `devices_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000001','Ann\'s \"phone\" 😀','a\\b','CwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCws=','1:5a3d9548:Mr9Mexc/WvjhP3a6SdcMgCsfuoq/bZU8BErOmfhtG67qy2m3EqgfVl8nWBK+RyODqQuARhejSP93UC+tWQmtOdj1GHqf4HnB','100.64.0.11','6440000b','fd00::11','fd000000000000000000000000000011',1,1,1,1,1,NULL,NULL,NULL,NULL,NULL,'2026-11-21 22:29:26.649000','2026-11-21 22:29:26.649000',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000012','0190a000-0000-7000-8000-000000000002','laptop',NULL,'FRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRU=','1:5a3d9548:Brnb27140J3qix6ZcTCxYCNnO8drvGLcWEX/QP4mi68EJ/o2FBgE7/D03Z5pfA4be/7tIUghn6PHrWHIuN3DGDXin2kFIeAl','100.64.0.12','6440000c',NULL,NULL,1,0,1,0,1,NULL,'[\"9.9.9.9\"]',NULL,1300,NULL,'2026-11-21 22:29:26.659000','2026-11-21 22:29:26.659000',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE `fetched_metadata` (
  `provider_id` varchar(64) NOT NULL,
  `basis` char(64) NOT NULL,
  `version` int(11) NOT NULL,
  `document` longtext DEFAULT NULL,
  `former_certificates` longtext NOT NULL,
  `awaited_certificates` longtext NOT NULL,
  `fetched_at` datetime(6) DEFAULT NULL,
  `asked_at` datetime(6) DEFAULT NULL,
  `refresh_at` datetime(6) NOT NULL,
  `problem` text DEFAULT NULL,
  PRIMARY KEY (`provider_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `fetched_metadata` VALUES ('adfs','cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd',3,'<x a=\"1\">it\'s é</x>','[\"QQ==\"]','[\"Qg==\"]','2026-11-23 20:00:00.000000',NULL,'2026-11-23 20:00:00.000000',NULL);
CREATE TABLE `forgetting` (
  `name` varchar(32) NOT NULL,
  `clock_ms` bigint(20) NOT NULL,
  `ran_ms` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `gateway_traffic` (
  `step` int(11) NOT NULL,
  `start` bigint(20) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `rx_bytes` bigint(20) NOT NULL,
  `tx_bytes` bigint(20) NOT NULL,
  PRIMARY KEY (`step`,`start`,`gateway_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `gateways` (
  `id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `started_at` datetime(6) NOT NULL,
  `seen_at` datetime(6) NOT NULL,
  `applied_revision` bigint(20) NOT NULL,
  `clock_floor` datetime(6) DEFAULT NULL,
  `bootstrap_sha256` char(64) DEFAULT NULL,
  `settings` longtext DEFAULT NULL,
  `public_key` char(44) DEFAULT NULL,
  `schema_step` varchar(64) DEFAULT NULL,
  `egress` varchar(16) DEFAULT NULL,
  `egress_reason` text DEFAULT NULL,
  `last_backup_at` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `gateways` VALUES ('0190a000-0000-7000-8000-000000000051','gate','2026-03-01 00:00:00.000000','2026-03-01 00:00:00.000000',0,NULL,'5555555555555555555555555555555555555555555555555555555555555555','{\"EXTERNAL_URL\":\"https://vpn.example.com/\",\"WIREGUARD_PORT\":51820}','CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=',NULL,NULL,NULL,NULL);
CREATE TABLE `group_memberships` (
  `id` char(36) NOT NULL,
  `group_id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `source` varchar(80) NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `group_memberships_group_id_user_id_source` (`group_id`,`user_id`,`source`),
  KEY `group_memberships_user_id` (`user_id`),
  CONSTRAINT `group_memberships_ibfk_1` FOREIGN KEY (`group_id`) REFERENCES `user_groups` (`id`),
  CONSTRAINT `group_memberships_ibfk_2` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `identities` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `kind` varchar(8) NOT NULL,
  `provider_id` varchar(64) NOT NULL,
  `issuer` text NOT NULL,
  `subject` text NOT NULL,
  `account_key` char(64) NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `relink_until` datetime(6) DEFAULT NULL,
  `groups_problem` varchar(16) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `identities_account_key` (`account_key`),
  KEY `identities_user_id` (`user_id`),
  CONSTRAINT `identities_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `identities` VALUES ('0190a000-0000-7000-8000-000000000041','0190a000-0000-7000-8000-000000000001','oidc','okta','https://id.example','ann','d721c894289bc969d112387917d09967bda128d1e9a974cd5d684deba89c2132','2026-11-21 22:29:26.681000','2026-11-21 22:29:26.681000',NULL,NULL);
CREATE TABLE `identity_tokens` (
  `identity_id` char(36) NOT NULL,
  `tokens` text DEFAULT NULL,
  `version` int(11) NOT NULL,
  `refresh_at` datetime(6) DEFAULT NULL,
  `claimed_by` char(36) DEFAULT NULL,
  `claimed_until` datetime(6) DEFAULT NULL,
  `refreshed_at` datetime(6) DEFAULT NULL,
  `error` varchar(64) DEFAULT NULL,
  PRIMARY KEY (`identity_id`),
  KEY `identity_tokens_refresh_at` (`refresh_at`),
  CONSTRAINT `identity_tokens_ibfk_1` FOREIGN KEY (`identity_id`) REFERENCES `identities` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
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
INSERT INTO `migrations` VALUES ('0001-schema-of-1.0.0','2026-11-23 23:40:00.000000');
INSERT INTO `migrations` VALUES ('0020-schema-of-1.1.0','2026-11-29 15:36:07.867000');
INSERT INTO `migrations` VALUES ('0021-first-steps','2026-11-30 02:49:47.781000');
INSERT INTO `migrations` VALUES ('0022-egress-by-sockets','2026-11-30 02:22:15.552000');
INSERT INTO `migrations` VALUES ('0023-undo','2026-11-30 06:28:49.255000');
INSERT INTO `migrations` VALUES ('0024-audit-names','2026-11-30 07:29:43.071000');
INSERT INTO `migrations` VALUES ('0025-last-backup','2026-11-30 07:29:44.509000');
INSERT INTO `migrations` VALUES ('0026-person-names','2026-11-30 10:09:01.120000');
CREATE TABLE `one_time_links` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `purpose` varchar(16) NOT NULL,
  `sha256` char(64) NOT NULL,
  `created_by` char(36) DEFAULT NULL,
  `expires_at` datetime(6) NOT NULL,
  `used_at` datetime(6) DEFAULT NULL,
  `mailed_at` datetime(6) DEFAULT NULL,
  `mail_fault` varchar(255) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `one_time_links_sha256` (`sha256`),
  UNIQUE KEY `one_time_links_user_id_purpose` (`user_id`,`purpose`),
  KEY `one_time_links_expires_at` (`expires_at`),
  CONSTRAINT `one_time_links_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `policy_tests` (
  `id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `user_id` char(36) DEFAULT NULL,
  `device_id` char(36) DEFAULT NULL,
  `destination` varchar(45) NOT NULL,
  `protocol` varchar(8) NOT NULL,
  `port` int(11) DEFAULT NULL,
  `expect` varchar(8) NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `policy_tests_user_id` (`user_id`),
  KEY `policy_tests_device_id` (`device_id`),
  KEY `policy_tests_inserted_at_id` (`inserted_at`,`id`),
  CONSTRAINT `policy_tests_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`),
  CONSTRAINT `policy_tests_ibfk_2` FOREIGN KEY (`device_id`) REFERENCES `devices` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `quota_usage` (
  `user_id` char(36) NOT NULL,
  `month` int(11) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `bytes` bigint(20) NOT NULL,
  PRIMARY KEY (`user_id`,`month`,`gateway_id`),
  CONSTRAINT `quota_usage_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `recovery_codes` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `sha256` char(64) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `recovery_codes_user_id_sha256` (`user_id`,`sha256`),
  CONSTRAINT `recovery_codes_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `refused_traffic` (
  `reason` varchar(64) NOT NULL,
  `step` int(11) NOT NULL,
  `start` bigint(20) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `packets` bigint(20) NOT NULL,
  PRIMARY KEY (`step`,`start`,`reason`,`gateway_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `revisions` (
  `id` int(11) NOT NULL,
  `number` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `revisions` VALUES (1,4);
CREATE TABLE `rule_traffic` (
  `rule_id` char(36) NOT NULL,
  `step` int(11) NOT NULL,
  `start` bigint(20) NOT NULL,
  `gateway_id` char(36) NOT NULL,
  `packets` bigint(20) NOT NULL,
  `bytes` bigint(20) NOT NULL,
  PRIMARY KEY (`rule_id`,`step`,`start`,`gateway_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
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
  `description` varchar(255) DEFAULT NULL,
  `enabled` tinyint(1) NOT NULL DEFAULT 1,
  `starts_at` datetime(6) DEFAULT NULL,
  `ends_at` datetime(6) DEFAULT NULL,
  `group_id` char(36) DEFAULT NULL,
  `protocol` varchar(8) DEFAULT NULL,
  `enforced` tinyint(1) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  KEY `rules_user_id_action_family_range_start_range_end` (`user_id`,`action`,`family`,`range_start`,`range_end`),
  KEY `rules_inserted_at_id` (`inserted_at`,`id`),
  KEY `rules_group_id_action_family_range_start` (`group_id`,`action`,`family`,`range_start`),
  CONSTRAINT `rules_group_id_foreign_idx` FOREIGN KEY (`group_id`) REFERENCES `user_groups` (`id`),
  CONSTRAINT `rules_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000021','accept','10.0.0.0/8',4,'0a000000','0affffff','tcp',80,443,'0190a000-0000-7000-8000-000000000001','2026-11-21 22:29:26.661000','2026-11-21 22:29:26.661000',NULL,1,NULL,NULL,NULL,NULL,1);
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000022','drop','fd12::/16',6,'fd120000000000000000000000000000','fd12ffffffffffffffffffffffffffff',NULL,NULL,NULL,NULL,'2026-11-21 22:29:26.667000','2026-11-21 22:29:26.667000',NULL,1,NULL,NULL,NULL,NULL,1);
CREATE TABLE `saml_tests` (
  `provider_id` varchar(64) NOT NULL,
  `metadata_sha256` char(64) NOT NULL,
  `signed` varchar(16) NOT NULL,
  `tested_at` datetime(6) NOT NULL,
  PRIMARY KEY (`provider_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `saml_tests` VALUES ('adfs','abababababababababababababababababababababababababababababababab','assertion','2026-11-23 19:30:00.000000');
CREATE TABLE `scopes` (
  `name` varchar(32) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `scopes` VALUES ('address_pool');
INSERT INTO `scopes` VALUES ('configuration');
CREATE TABLE `second_factors` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `secret` text NOT NULL,
  `last_step` bigint(20) NOT NULL,
  `last_used_at` datetime(6) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `second_factors_user_id_inserted_at` (`user_id`,`inserted_at`),
  CONSTRAINT `second_factors_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `second_factors` VALUES ('0190a000-0000-7000-8000-000000000062','0190a000-0000-7000-8000-000000000001','phone','1:5a3d9548:XjzH81CwptS5CFVLILpOTAOt14JAJuWrPX/5+HqsWFLgLGSTb8VnLVJ8bOk=',0,NULL,'2026-03-03 00:00:00.000000');
CREATE TABLE `secrets` (
  `name` varchar(64) NOT NULL,
  `value` text NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `secrets` VALUES ('key_check','1:5a3d9548:8v43d7lamjSAT5cTgBVbPM/J7zllQ2s5EA2fQI/YCxM7o0A=','2026-11-21 22:29:26.601000','2026-11-21 22:29:26.601000');
INSERT INTO `secrets` VALUES ('wireguard_private_key','1:5a3d9548:rAjW76B9RWn2V2+NsRQQctCZLCX26CE7HNJuiFdkVeN81ZQXJ01boEkvw5iciBk+52gvvYNY0N3UBNa1NDJ2a+8mF3pwlZfm','2026-11-21 22:29:26.627000','2026-11-21 22:29:26.627000');
CREATE TABLE `sessions` (
  `id` char(36) NOT NULL,
  `user_id` char(36) NOT NULL,
  `sha256` char(64) NOT NULL,
  `state` varchar(16) NOT NULL,
  `method` varchar(80) NOT NULL,
  `return_to` varchar(1024) DEFAULT NULL,
  `address` varchar(45) DEFAULT NULL,
  `user_agent` varchar(255) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `seen_at` datetime(6) NOT NULL,
  `account_key` char(64) DEFAULT NULL,
  `provider_session` char(64) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `sessions_sha256` (`sha256`),
  KEY `sessions_user_id_seen_at` (`user_id`,`seen_at`),
  KEY `sessions_seen_at` (`seen_at`),
  KEY `sessions_account_key` (`account_key`),
  CONSTRAINT `sessions_ibfk_1` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `sessions` VALUES ('0190a000-0000-7000-8000-000000000061','0190a000-0000-7000-8000-000000000001','cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd','signed_in','email',NULL,NULL,NULL,'2026-03-03 00:00:00.000000','2026-03-03 00:00:00.000000',NULL,NULL);
CREATE TABLE `sign_in_attempts` (
  `sha256` char(64) NOT NULL,
  `kind` varchar(16) NOT NULL,
  `count` int(11) NOT NULL,
  `expires_at` datetime(6) NOT NULL,
  PRIMARY KEY (`sha256`),
  KEY `sign_in_attempts_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `sign_in_requests` (
  `id` char(64) NOT NULL,
  `kind` varchar(8) NOT NULL,
  `provider_id` varchar(64) NOT NULL,
  `browser_sha256` char(64) NOT NULL,
  `user_id` char(36) DEFAULT NULL,
  `secrets` text DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `expires_at` datetime(6) NOT NULL,
  `network_sha256` char(64) DEFAULT NULL,
  `scope_sha256` char(64) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `sign_in_requests_inserted_at` (`inserted_at`),
  KEY `sign_in_requests_expires_at` (`expires_at`),
  KEY `sign_in_requests_network_sha256_scope_sha256_inserted_at` (`network_sha256`,`scope_sha256`,`inserted_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `trusted_providers` (
  `id` char(36) NOT NULL,
  `kind` varchar(8) NOT NULL,
  `provider_id` varchar(64) NOT NULL,
  `authority` text NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `trusted_providers_kind_provider_id` (`kind`,`provider_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `undos` (
  `id` char(36) NOT NULL,
  `session_id` char(36) NOT NULL,
  `entries` text NOT NULL,
  `inserted_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `undos_inserted_at` (`inserted_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `used_assertions` (
  `id` char(64) NOT NULL,
  `expires_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `used_assertions_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `user_groups` (
  `id` char(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `description` varchar(255) DEFAULT NULL,
  `inserted_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `provider` varchar(80) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `user_groups_name` (`name`),
  KEY `user_groups_inserted_at_id` (`inserted_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
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
  `disabled_provider` varchar(80) DEFAULT NULL,
  `limit_down` bigint(20) DEFAULT NULL,
  `limit_up` bigint(20) DEFAULT NULL,
  `quota` bigint(20) DEFAULT NULL,
  `role_provider` varchar(80) DEFAULT NULL,
  `email_look` char(64) DEFAULT NULL,
  `first_steps_dismissed_at` datetime(6) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `users_email_key` (`email_key`),
  KEY `users_inserted_at_id` (`inserted_at`,`id`),
  KEY `users_email_look` (`email_look`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000001','Ann@example.com','ann@example.com','admin','$2b$04$abcdefghijklmnopqrstuuJrjFUcHlS1nMZFxIBTXcOjVEO7LQn0i',NULL,NULL,'2026-01-02 03:04:05.678000','email','2026-11-21 22:29:26.639000','2026-11-21 22:29:26.639000',NULL,NULL,NULL,NULL,NULL,'71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476',NULL,NULL);
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000002','bób@example.com','bób@example.com','unprivileged',NULL,'2026-02-03 04:05:06.007000','administrator',NULL,NULL,'2026-11-21 22:29:26.644000','2026-11-21 22:29:26.644000',NULL,NULL,NULL,NULL,NULL,'b604bad4df3d5ea740e26df201d8295cc4c14c73539b9004c620b07806a98aff',NULL,NULL);
