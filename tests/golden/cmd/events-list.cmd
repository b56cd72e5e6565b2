# SPDX-License-Identifier: BSD-2-Clause
ebeam events --list
ebeam events --list -j -e port_open,gc_minor*
ebeam events --list --markdown -e gc
