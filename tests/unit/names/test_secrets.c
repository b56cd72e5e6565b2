/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of secrets and of what only sounds like one; secrets inside of texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "names/secrets.h"

static void test_names(void **state)
{
	static const char *const secret[] = {
		"password",
		"db_password",
		"DB_PASSWORD",
		"Elixir.My.password",
		"passwd",
		"pass",
		"dbPass",
		"db-pass",
		"user_passwd_2",
		"passphrase",
		"secret",
		"client_secret",
		"secret_key_base",
		"secretKeyBase",
		"secret_key_base_old",
		"token",
		"auth_token",
		"AccessToken",
		"HTTPToken",
		"tokens",
		"key",
		"keys",
		"api_key",
		"apiKey",
		"APIKEY",
		"api-key",
		"encryption_key",
		"private_key",
		"cookie",
		"erlang_cookie",
		"signing_salt",
		"credentials",
		"aws_credentials",
		"Authorization",
		"basic_auth",
		"proxyAuth",
		"connection_string",
		"x-api-key",
		"jwt",
		"password_hash",
		"default_pass",
		"ssl_key_password",
		"pwd",
	};
	static const char *const plain[] = {
		"",
		"_",
		"-",
		"user",
		"username",
		"host",
		"port",
		"bypass",
		"compass",
		"keyfile",
		"keyboard",
		"monkey",
		"password_file",
		"key_file",
		"keys_dir",
		"token_ttl",
		"max_tokens",
		"primary_key",
		"public_key",
		"partition_key",
		"session_timeout",
		"cookie_name",
		"tokenizer",
		"passive",
		"auth_backends",
		"auth_mechanisms",
		"logger_level",
		"certfile",
		"cacerts",
		"author",
		"otp_app",
		"password_policy",
		"key_length",
		"saltpeter",
		"pool_size",
		"url",
		"secretary_count",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		if (!secrets_name(secret[i], strlen(secret[i])))
			fail_msg("'%s' is no secret", secret[i]);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (secrets_name(plain[i], strlen(plain[i])))
			fail_msg("'%s' is a secret", plain[i]);
}

/* Long ones, and bytes of every value. */
static void test_odd_names(void **state)
{
	char name[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)i;
	secrets_name(name, sizeof(name));
	memset(name, '_', sizeof(name));
	assert_false(secrets_name(name, sizeof(name)));
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? 'B' : 'a';
	assert_false(secrets_name(name, sizeof(name)));
	memset(name, 'a', sizeof(name));
	memcpy(name, "password", 8);
	assert_true(secrets_name(name, sizeof(name)));
}

static void expect(const char *text, const char *want, size_t nr)
{
	struct strbuf s = STRBUF_INIT;
	size_t masked;

	strbuf_addstr(&s, "http://a:b@before "); /* is not looked at */
	masked = secrets_mask_text(&s, s.len);
	assert_int_equal(masked, 0);
	strbuf_addstr(&s, text);
	masked = secrets_mask_text(&s, strlen("http://a:b@before "));
	assert_string_equal(s.buf + strlen("http://a:b@before "), want);
	assert_int_equal(masked, nr);
	assert_int_equal(s.len, strlen(s.buf));
	strbuf_free(&s);
}

static void test_texts(void **state)
{
	static const char *const same[] = {
		"",
		"\"text\"",
		"\"http://host:80/path@x\"",
		"<<\"https://host/@x\">>",
		"\"http://[::1]:80/\"",
		"\"ssh://git@host/path\"",
		"\"a://\"",
		"://",
		"\"http://host:8080/very/long...\"",
		"#{token => x}",
		"#m:r{token = x}",
		"\"port=80\"",
		"\"=password\"",
		"\"password=\"",
		"[{password,***}]",
		"\"\\\"user\\\":\\\"me\\\"\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		expect(same[i], same[i], 0);
	expect("\"amqp://me:pw@host/v\"", "\"amqp://me:***@host/v\"", 1);
	expect("\"amqp://me:p@w@host/v@x\"", "\"amqp://me:***@host/v@x\"", 1);
	expect("\"amqp://me:p/w@host/v\"", "\"amqp://me:***@host/v\"", 1);
	expect("\"amqp://me:p\\\"w@host\"", "\"amqp://me:***@host\"", 1);
	expect("redis://:pw@host", "redis://:***@host", 1);
	expect("\"a://b:c@d,e://f:g@h\"", "\"a://b:***@d,e://f:***@h\"", 2);
	expect("[<<\"a://b:c@d\">>,\"e://f:g@h\"]", "[<<\"a://b:***@d\">>,\"e://f:***@h\"]", 2);
	expect("\"https://key@host/1\"", "\"https://***@host/1\"", 1);
	expect("\"amqp://me:pas...\"", "\"amqp://me:***...\"", 1);
	expect("\"--password=pw\"", "\"--password=***\"", 1);
	expect("\"a=1;AccountKey=pw==;b=2\"", "\"a=1;AccountKey=***;b=2\"", 1);
	expect("\"x?api_key=pw&token=t&y=1\"", "\"x?api_key=***&token=***&y=1\"", 2);
	expect("\"host=h password=pw port=1\"", "\"host=h password=*** port=1\"", 1);
	expect("\"{\\\"password\\\": \\\"p w\\\",\\\"a\\\":1}\"",
	       "\"{\\\"password\\\": \\\"***\\\",\\\"a\\\":1}\"", 1);
	expect("\"{\\\"password\\\":\\\"p\\\\\\\"w\\\"}\"", "\"{\\\"password\\\":\\\"***\\\"}\"",
	       1);
	expect("\"password=\\\"p w\\\" x\"", "\"password=\\\"***\\\" x\"", 1);
	expect("\"password=\\\"p w...\"", "\"password=\\\"***\"", 1);
	expect("\"{\\\"token\\\":12,\\\"a\\\":1}\"", "\"{\\\"token\\\":***,\\\"a\\\":1}\"", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
