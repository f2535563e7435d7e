static const struct unit_kind x_kind = {.name = "x"};
