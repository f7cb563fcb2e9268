/* The commands of remuda-sim. Each gets its own argv and returns the exit status. */
#ifndef REMUDA_SIM_SIM_H
#define REMUDA_SIM_SIM_H

int sim_worlds(int argc, char **argv); /* seeded worlds with faults, each played twice */
/* remuda-sim series DIR: samples on stdin as files of the controller */
int sim_series(int argc, char **argv);
int sim_story(int argc, char **argv);   /* a script in, a narrated trace out, compared */
int sim_run(int argc, char **argv);     /* a workload under a policy */
int sim_compare(int argc, char **argv); /* the same workload twice */
int sim_check(int argc, char **argv);   /* schedules against those of other simulators */
int sim_pack(int argc, char **argv);    /* how full a machine of GPUs gets */
int sim_score(int argc, char **argv);   /* the scoreboard of scheduling quality */

#endif
