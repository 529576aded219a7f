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
INSERT INTO `api_tokens` VALUES ('0190a000-0000-7000-8000-000000000031','0190a000-0000-7000-8000-000000000001','ci','abababababababababababababababababababababababababababababababab','2027-01-01 00:00:00.000000',NULL,'2026-11-21 22:29:06.812000','2026-11-21 22:29:06.812000');
CREATE TABLE `changes` (
  `revision` bigint(20) NOT NULL,
  `table_name` varchar(32) NOT NULL,
  `row_id` varchar(64) NOT NULL,
  PRIMARY KEY (`revision`,`table_name`,`row_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `changes` VALUES (1,'secrets','key_check');
INSERT INTO `changes` VALUES (2,'configurations','01a2003a-3e50-74e0-b6fa-5f6ccee9c4c8');
INSERT INTO `changes` VALUES (3,'secrets','wireguard_private_key');
INSERT INTO `changes` VALUES (4,'api_tokens','0190a000-0000-7000-8000-000000000031');
INSERT INTO `changes` VALUES (4,'configurations','01a2003a-3e50-74e0-b6fa-5f6ccee9c4c8');
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
INSERT INTO `configurations` VALUES ('01a2003a-3e50-74e0-b6fa-5f6ccee9c4c8',1,1,1,'[\"0.0.0.0/0\",\"::/0\"]','[\"9.9.9.9\"]',NULL,NULL,25,0,1,3600,'{}','1:5a3d9548:VzZLIGif/GK8+hqDW7mgzPktqG1IwgJ8FOjE3ah+yIN1g6Z1/Y8/RhOeBU56x4ZrqUIYoOg6AWjUldt04TNA0+zc0oW4ubbV+BSS3Gv16/Klgi+81I4/NATvl9JuNrwmDXE7EaKn7sMEcI0O6rcFpwK/rOuqrCWr5x3fFMkjTeQQRPWL6jQV8znwQ+k5Rnuu5Ny3ec/qa+TCVhWPGUAZEQqbf+VlUsSXdOeos0+dOeaae60qXpmXtyKxcfLpchPbuJ6DNnSJdM8H99J+p3UGhZJi/FRl/LdKd3sT5QwnGoR1uhc/5TdEzAWVLS/ikBu6MA==','[]','2026-11-21 22:29:06.768000','2026-11-21 22:29:06.837000');
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
INSERT INTO `device_statuses` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000051','2026-03-02 00:00:00.000000','192.0.2.7',4500,5000000000,7,'2026-11-21 22:29:06.851000');
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
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000011','0190a000-0000-7000-8000-000000000001','Ann\'s \"phone\" 😀','a\\b','CwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCwsLCws=','1:5a3d9548:1kEv8Oj8pqCJSlZZHZRzZk46vAl9WrMUM7MNvOW2YHfsBBipgHjgFyphOruJc5XybaomfQC4gRZa9aNFNgixbMqeKQuJWOxk','100.64.0.11','6440000b','fd00::11','fd000000000000000000000000000011',1,1,1,1,1,NULL,NULL,NULL,NULL,NULL,'2026-11-21 22:29:06.794000','2026-11-21 22:29:06.794000');
INSERT INTO `devices` VALUES ('0190a000-0000-7000-8000-000000000012','0190a000-0000-7000-8000-000000000002','laptop',NULL,'FRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRU=','1:5a3d9548:QVviKPkMzOk50iW/jAUhjjjBhxUq/uwwzYJUFQ3DZYa5UWMG4k3OrXeeHL8Gn+zJyLGMf7RlpxsqVBt5Eg2coVhMquXzq/ME','100.64.0.12','6440000c',NULL,NULL,1,0,1,0,1,NULL,'[\"9.9.9.9\"]',NULL,1300,NULL,'2026-11-21 22:29:06.798000','2026-11-21 22:29:06.798000');
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
INSERT INTO `migrations` VALUES ('0001-first-tables','2026-11-21 22:29:06.694000');
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
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000021','accept','10.0.0.0/8',4,'0a000000','0affffff','tcp',80,443,'0190a000-0000-7000-8000-000000000001','2026-11-21 22:29:06.802000','2026-11-21 22:29:06.802000');
INSERT INTO `rules` VALUES ('0190a000-0000-7000-8000-000000000022','drop','fd12::/16',6,'fd120000000000000000000000000000','fd12ffffffffffffffffffffffffffff',NULL,NULL,NULL,NULL,'2026-11-21 22:29:06.805000','2026-11-21 22:29:06.805000');
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
INSERT INTO `secrets` VALUES ('key_check','1:5a3d9548:tuBJI1fp2dUPudqugMBj0XSx/Ny/1FwQCHpWBwy4RUZrVhQ=','2026-11-21 22:29:06.707000','2026-11-21 22:29:06.707000');
INSERT INTO `secrets` VALUES ('wireguard_private_key','1:5a3d9548:f/Xei5H0vCp+meD/LmPJ8Av0Jkbblg36I4hb4ejB4UTdvUq5kPHWLvnciA8HcsZD7dBPO7ulq56q/0IrG5sveThVOF0XOZdh','2026-11-21 22:29:06.781000','2026-11-21 22:29:06.781000');
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
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000001','Ann@example.com','ann@example.com','admin','$2b$04$abcdefghijklmnopqrstuuJrjFUcHlS1nMZFxIBTXcOjVEO7LQn0i',NULL,NULL,'2026-01-02 03:04:05.678000','email','2026-11-21 22:29:06.785000','2026-11-21 22:29:06.785000');
INSERT INTO `users` VALUES ('0190a000-0000-7000-8000-000000000002','bób@example.com','bób@example.com','unprivileged',NULL,'2026-02-03 04:05:06.007000','administrator',NULL,NULL,'2026-11-21 22:29:06.788000','2026-11-21 22:29:06.788000');
