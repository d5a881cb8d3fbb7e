DROP TABLE door_delays;
DROP TABLE devices;
DROP TABLE door_passphrase;
