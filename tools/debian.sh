# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2016,SC2154
# tools/debian.sh: where this host's apt fetches from, for the tools that fetch more of Debian.
# Sourced; the caller has die().

# The archives that apt fetches this host's packages from, one a line: URI, suite, component.
# apt's own parser reads both forms of its source lists.
apt_archives()
{
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages'
}

# The mirror that apt fetches this host's release from.
find_mirror()
{
	local uri=${EBEAM_MIRROR:-} codename
	if [ -z "$uri" ]; then
		codename=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-sid}") ||
			die "this host is not Debian: set EBEAM_MIRROR to a Debian mirror"
		uri=$(apt_archives | awk -v c="$codename" '
			$3 == "main" && ($2 == c || $2 ~ /stable$|^testing$/) { print $1; exit }')
	fi
	case $uri in
	http:* | https:* | file:*) echo "${uri%/}" ;;
	'') die "apt's configuration names no mirror of $codename: set EBEAM_MIRROR" ;;
	*) die "debootstrap does not take the mirror of apt's configuration, $uri: set EBEAM_MIRROR" ;;
	esac
}

# The mirror of the security archive: apt's own, or the one beside the mirror.
find_security_mirror()
{
	local uri=
	[ -n "${EBEAM_MIRROR:-}" ] ||
		uri=$(apt_archives | awk '$3 == "main" && $2 ~ /-security$/ { print $1; exit }')
	[ -n "$uri" ] || { uri=$(find_mirror) && uri=${uri%/debian}/debian-security; }
	echo "${uri%/}"
}

# Downloads obey apt's proxy.
export_proxy()
{
	local http=
	eval "$(apt-config shell http Acquire::http::Proxy 2>/dev/null || true)"
	case $http in '' | DIRECT) ;; *) export http_proxy=$http ;; esac
}
