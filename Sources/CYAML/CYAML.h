/* SPDX-License-Identifier: MIT */
/* libyaml, whose events the settings file is read from. */
#ifndef CYAML_H
#define CYAML_H

#include <yaml.h>

#endif
