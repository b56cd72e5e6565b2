/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Words that fields of events have as values (FIELD_WORD of abi/record.h). */
#ifndef EBEAM_ABI_EVENT_WORDS_H
#define EBEAM_ABI_EVENT_WORDS_H

/* EVENT_WORD(id, text) */
#define EVENT_WORDS(EVENT_WORD)                                                                    \
	EVENT_WORD(IN, "in")                                                                       \
	EVENT_WORD(OUT, "out")                                                                     \
	EVENT_WORD(IN_EXITING, "in_exiting")                                                       \
	EVENT_WORD(OUT_EXITING, "out_exiting")                                                     \
	EVENT_WORD(OUT_EXITED, "out_exited")                                                       \
	EVENT_WORD(WAITING, "waiting")                                                             \
	EVENT_WORD(RUNNABLE, "runnable")                                                           \
	EVENT_WORD(SUSPENDED, "suspended")                                                         \
	EVENT_WORD(MBC, "mbc")                                                                     \
	EVENT_WORD(SBC, "sbc")                                                                     \
	EVENT_WORD(MINOR, "minor")                                                                 \
	EVENT_WORD(MAJOR, "major")                                                                 \
	EVENT_WORD(NODEUP, "nodeup")                                                               \
	EVENT_WORD(NODEDOWN, "nodedown")                                                           \
	EVENT_WORD(VISIBLE, "visible")                                                             \
	EVENT_WORD(HIDDEN, "hidden")                                                               \
	EVENT_WORD(ACTIVE, "active")                                                               \
	EVENT_WORD(INACTIVE, "inactive")                                                           \
	EVENT_WORD(ERROR, "error")                                                                 \
	EVENT_WORD(EXIT, "exit")                                                                   \
	EVENT_WORD(THROW, "throw")                                                                 \
	EVENT_WORD(CAUGHT, "caught")                                                               \
	EVENT_WORD(UNCAUGHT, "uncaught")                                                           \
	EVENT_WORD(MALLOC, "malloc")                                                               \
	EVENT_WORD(CALLOC, "calloc")                                                               \
	EVENT_WORD(REALLOC, "realloc")                                                             \
	EVENT_WORD(MEMALIGN, "memalign")                                                           \
	EVENT_WORD(POSIX_MEMALIGN, "posix_memalign")                                               \
	EVENT_WORD(MMAP, "mmap")                                                                   \
	EVENT_WORD(FREE, "free")                                                                   \
	EVENT_WORD(MUNMAP, "munmap")                                                               \
	EVENT_WORD(GONE, "gone")                                                                   \
	EVENT_WORD(SHRUNK, "shrunk")                                                               \
	EVENT_WORD(CHANGED, "changed")                                                             \
	EVENT_WORD(ALIKE, "alike")
enum event_word {
	EVENT_WORD_NONE = 0,
#define EVENT_WORD_ID(id, text) EVENT_WORD_##id,
	EVENT_WORDS(EVENT_WORD_ID)
#undef EVENT_WORD_ID
		NR_EVENT_WORDS
};

#endif
